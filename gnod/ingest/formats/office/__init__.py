"""Office documents and books: Microsoft's formats, OpenDocument, RTF, EPUB, workbooks.

Plain tables (CSV) are beside this folder, and PDF has a folder of its own.
"""
