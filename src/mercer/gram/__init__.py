"""K as something that is computed by tiles and multiplied, ranked or solved without being held twice."""

from mercer.gram.nearest import nearest_rows
from mercer.gram.product import columns_against, times
from mercer.gram.training import training_matrix

__all__ = ["columns_against", "nearest_rows", "times", "training_matrix"]
