"""The words of the design as values: digests, references, ranges, errors, limits, exact JSON."""
