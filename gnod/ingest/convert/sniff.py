"""What a file's content says it is, from its first bytes and, inside a zip, from the names of its members."""

from __future__ import annotations

import io
import zipfile

PDF_HEADER = b"%PDF-"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PREFIXES: tuple[tuple[bytes, str], ...] = (
    (PDF_HEADER, "pdf"),
    (b"{\\rtf", "rtf"),
    (b"\x09\x00\x04\x00\x07\x00", "xls"),  # BIFF 2, 3 and 4: workbooks from before there was OLE
    (b"\x09\x02\x06\x00\x00\x00", "xls"),
    (b"\x09\x04\x06\x00\x00\x00", "xls"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
    (b"8BPS", "image"),
    (b"ID3\x02", "audio"),
    (b"ID3\x03", "audio"),
    (b"ID3\x04", "audio"),
    (b"OggS", "audio"),
    (b"fLaC", "audio"),
    (b"\x1f\x8b\x08", "archive"),
    (b"BZh", "archive"),
    (b"\xfd7zXZ\x00", "archive"),
    (b"(\xb5/\xfd", "archive"),
    (b"7z\xbc\xaf\x27\x1c", "archive"),
    (b"Rar!\x1a\x07", "archive"),
    (b"\x7fELF", "program"),
    (b"\xcf\xfa\xed\xfe", "program"),
    (b"\xca\xfe\xba\xbe", "program"),
    (b"\x00asm", "program"),
    (b"SQLite format 3\x00", "database"),
)
# What else a file may hold than its name says.
WORDS = {
    "pdf": "a PDF document",
    "rtf": "a rich text document",
    "doc": "a Word document",
    "docx": "a Word document",
    "ppt": "a presentation",
    "pptx": "a presentation",
    "xls": "a workbook",
    "xlsx": "a workbook",
    "epub": "an EPUB book",
    "msg": "an Outlook message",
    "ole": "an Office document of the old kind",
    "zip": "a zip archive",
    "zip-damaged": "a damaged zip archive",
    "encrypted": "an encrypted document",
    "image": "an image",
    "audio": "a sound recording",
    "video": "a video",
    "archive": "a packed archive",
    "program": "a program",
    "database": "a database",
}
_OLE_STREAMS = (  # names of streams, as the directory of an OLE file holds them
    ("EncryptedPackage", "encrypted"),
    ("__substg1.0_", "msg"),
    ("WordDocument", "doc"),
    ("PowerPoint Document", "ppt"),
    ("Workbook", "xls"),
    ("WORKBOOK", "xls"),
    ("Book", "xls"),
)


def sniff(data: bytes) -> str | None:
    """Return the format that the content shows, or None: then it may be text.

    A word of `dispatch`'s readers (`pdf`, `docx`, …), or one that says why there is none (`image`,
    `encrypted`, …). `zip` is an archive of no known kind, `zip-damaged` one whose table of contents is gone.
    """
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _inside_zip(data)
    if data.startswith(_OLE):
        return _inside_ole(data)
    for prefix, found in _PREFIXES:
        if data.startswith(prefix):
            return found
    if data.startswith(b"RIFF") and data[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return "image" if data[8:12] == b"WEBP" else "audio"
    if data[4:8] == b"ftyp":
        return "video"
    return None


def _inside_zip(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = {name.lstrip("/").replace("\\", "/") for name in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError):
        return "zip-damaged"
    if "word/document.xml" in names or "word/document2.xml" in names:
        return "docx"
    if "ppt/presentation.xml" in names:
        return "pptx"
    if "xl/workbook.xml" in names:
        return "xlsx"
    return "epub" if "META-INF/container.xml" in names and "mimetype" in names else "zip"


def _inside_ole(data: bytes) -> str:
    for stream, found in _OLE_STREAMS:
        if stream.encode("utf-16-le") in data:
            return found
    return "ole"
