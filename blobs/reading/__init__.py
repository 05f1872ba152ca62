"""Readers and views: what the bytes of a blob mean, through one door for built-in and foreign formats."""
