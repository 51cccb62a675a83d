"""Converts office documents and books. Each format has a module, named after its usual extension.

    package                 zips of XML parts: Office since 2007, OpenDocument, EPUB
    ole                     OLE files: Office until 2003
    xml_events, blocks      XML as a stream; paragraphs, lists and tables as Markdown
    sheets, number_format   workbooks of all formats, and the display of cells
    drawings, metafile      charts, diagrams, shapes; pictures that are lists of drawing commands
    numbering               styles and numbers of paragraphs in Word

Plain tables (CSV) are in the parent package; PDF is in the package `pdf`.
"""
