"""The cell: one sandbox for everything that is not ours."""
