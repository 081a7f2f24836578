"""(K + alpha I)^-1 and what follows from it: factor once, solve often.

A system (`DualSystem`, `PrimalSystem`) sees the rows; `at(alpha)` sees the penalty; `solve` sees the
targets. Every answer carries the route by which it was found and its number of correct digits.
"""

from mercer.solvers.dual import DualSystem, Solution
from mercer.solvers.plan import SOLVERS, Route, SolverChoice, choose
from mercer.solvers.primal import Penalized, PrimalSystem

__all__ = ["SOLVERS", "DualSystem", "Penalized", "PrimalSystem", "Route", "Solution", "SolverChoice", "choose"]
