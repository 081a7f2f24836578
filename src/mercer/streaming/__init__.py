"""Models and searches from sums over rows that are read in passes and never held."""
