"""Benchmarks: `python -m tests.benchmarks` measures the work beside named peers and writes one table."""
