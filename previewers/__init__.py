"""The built-in readers, one module a format, each found by the entry point group `blobs.readers`."""
