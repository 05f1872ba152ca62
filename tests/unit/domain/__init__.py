"""Tests of blobs.domain."""
