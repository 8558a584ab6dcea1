"""Tolerance: the largest relative L2 error a class of kernels may have against float64 on the same operands."""

#: Moves values and computes nothing.
EXACT = 0.0
#: float32 sums of thousands of products: rounding grows with the root of their number, to about 1e-6 here.
FLOAT32 = 1e-5
#: Rounding to few levels. A ternary value beside a threshold may land on its other side: one in 2.6e5 is 2.5e-3. What
#: must not pass: int8 levels from bf16 arithmetic (8e-3), and activations that nobody rounded to int8 (7.8e-3).
QUANTIZED = 4e-3
