"""Bytes and records: content stores, catalogs, and the blob store that alone writes both."""
