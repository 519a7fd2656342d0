"""Compiled kernels of the method `pyramid`: steps at a node, steps at a block, and two passes."""
