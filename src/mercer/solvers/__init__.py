"""(K + alpha I)^-1 and what follows from it: factor once, solve often.

A system (`DualSystem`, `PrimalSystem`) sees the rows; `at(alpha)` sees the penalty; `solve` sees the
targets. Every answer carries the route by which it was found and its number of correct digits.
"""

from mercer.solvers.dual import DualSystem
from mercer.solvers.plan import SOLVERS, SolverChoice, choose
from mercer.solvers.primal import PrimalSystem
from mercer.solvers.route import Route
from mercer.solvers.solution import Penalized, Solution

__all__ = ["SOLVERS", "DualSystem", "Penalized", "PrimalSystem", "Route", "Solution", "SolverChoice", "choose"]
