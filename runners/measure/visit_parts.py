"""The parts of a visit, as a worker announces them and a display names them."""

FIRST_CALL = "first call"
CHECKING = "checking"
TIMING = "timing"
