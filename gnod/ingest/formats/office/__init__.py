"""Office documents and books: Microsoft's formats, OpenDocument, RTF, EPUB.

    xml_events, blocks      XML as a stream; paragraphs, lists and tables as Markdown
    sheets, number_format   what workbooks of all formats have in common, and what their cells show
    metafile                the text in pictures that are lists of drawing commands

Plain tables (CSV) are beside this folder, and PDF has a folder of its own.
"""
