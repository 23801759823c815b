"""Outputs measured: the numbers of each, from which every figure is made."""
