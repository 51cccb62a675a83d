"""PDF: its text, its pages as pictures, the characters of a page with their boxes.

Recognising pages without text is in `gnod.ingest.ocr`.
"""
