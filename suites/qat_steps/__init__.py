"""Whole training steps with quantized weights."""
