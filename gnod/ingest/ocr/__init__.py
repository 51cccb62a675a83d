"""Optical character recognition: which programs are there, the picture of a page, its lines, their order.

Runs in worker processes of its own, one page at a time. Must not depend on the index or on when it runs
(`gnod.services.ocr`), and never uses the network.
"""
