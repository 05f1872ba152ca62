"""The preview job and the three tools over one blob."""
