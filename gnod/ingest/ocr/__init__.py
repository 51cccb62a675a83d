"""Optical character recognition: which programs are there, the picture of a page, its lines, their order.

Runs in worker processes of its own, one page at a time. Knows neither the index nor when it runs
(`gnod.services.ocr`), and never uses the network.
"""
