"""Exact models in cells of neighbouring rows: the partition, the systems of its cells, the choice of candidates."""
