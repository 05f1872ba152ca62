"""Benchmarks: `python -m tests.benchmarks` measures the work of this project beside named peers and writes one table."""
