"""Tolerance: the largest relative L2 error a class of kernels may have against float64 on the same operands."""

#: Moves values and computes nothing.
EXACT = 0.0
#: float32 sums of thousands of products: rounding grows with the root of their number, to about 1e-6 here.
FLOAT32 = 1e-5
#: Rounding to few levels: a value beside a threshold may land on its other side; one flip in 10^5 values is 3e-3.
QUANTIZED = 1e-2
#: A training step: its gradients pass through quantized layers.
STEP = 2e-2
