"""Layers of networks, forward and backward."""
