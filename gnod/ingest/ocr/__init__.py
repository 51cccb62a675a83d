"""Optical character recognition: which programs are there, the lines of a page, their order.

Runs in worker processes of its own with the lowest priority, one page at a time. Knows neither the index nor when it
runs (`gnod.background.ocr_backlog`), and nothing of formats beyond the pictures of their pages.
"""
