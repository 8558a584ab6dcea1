"""What is measured: declared benchmarks, their cases, costs, operands and references."""

from perfdb.domain.case import Case, Cost
from suites.registry import Launch, UnsupportedError, benchmark

__all__ = ["Case", "Cost", "Launch", "UnsupportedError", "benchmark"]
