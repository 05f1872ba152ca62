"""agent-blobs: a blob store and large-result handling service for agent runtimes."""
