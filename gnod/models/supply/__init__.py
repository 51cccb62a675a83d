"""Getting a model: which ones there are, which one fits the machine, its size, its download and its conversion.

Computes with models only to measure the speed of the machine.
"""
