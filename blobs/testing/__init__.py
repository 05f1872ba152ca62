"""Contract suites for the makers of stores, catalogs, runners and readers."""
