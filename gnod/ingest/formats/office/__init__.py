"""Office documents and books, one module for each format, named after its usual extension.

    package                 zips of XML parts: Office since 2007, OpenDocument, EPUB
    ole                     the files of Office until 2003
    xml_events, blocks      XML as a stream; paragraphs, lists and tables as Markdown
    sheets, number_format   what workbooks of all formats have in common, and what their cells show
    drawings, metafile      charts, diagrams, shapes; pictures that are lists of drawing commands
    numbering               the styles and the numbers of paragraphs in Word

Plain tables (CSV) are beside this folder, and PDF has a folder of its own.
"""
