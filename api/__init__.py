"""agent-blobs over HTTP."""
