"""What can be known about a kernel or a model besides its predictions: Mercer checks, repaired matrices."""

from mercer.insight.check import MercerCheck, check_mercer
from mercer.insight.spectrum import Repair, repair

__all__ = ["MercerCheck", "Repair", "check_mercer", "repair"]
