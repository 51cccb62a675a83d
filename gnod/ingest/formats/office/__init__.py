"""Office documents and books: Microsoft's formats, OpenDocument, RTF, EPUB.

    xml_events, blocks      XML as a stream; paragraphs, lists and tables as Markdown
    sheets, number_format   what workbooks of all formats have in common, and what their cells show
    metafile, embedded      the text in pictures: drawn by commands, and to be recognised

Plain tables (CSV) are beside this folder, and PDF has a folder of its own.
"""
