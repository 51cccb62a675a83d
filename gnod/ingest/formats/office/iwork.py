"""Converts the PDF preview in zip files of Pages, Numbers and Keynote. The format of the document is not public."""

from __future__ import annotations

import io
import zipfile

from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.unpacking import check_depth, check_unpacked, unpack

_PREVIEWS = ("QuickLook/Preview.pdf", "preview.pdf")
_DOCUMENTS = frozenset({"Index.zip", "index.xml", "index.apxl"})


def _is_iwork(content: FileContent) -> bool:
    members = (content.zip_members if content.is_zip else None) or frozenset[str]()
    return not members.isdisjoint(_DOCUMENTS) or any(name.endswith(".iwa") for name in members)


def _read(content: FileContent) -> Converted:
    check_depth(content)
    members = {member.filename: member for member in check_unpacked(content)}
    for name in _PREVIEWS:
        if name in members:
            with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
                preview = unpack(archive, members[name], content)
            return content.convert(content.inner(preview, name, content.max_characters))
    raise ConversionFailed(
        "unsupported", "This iWork document was saved without a preview of its pages: export it as PDF."
    )


IWORK = Converter(
    label="an iWork document with a preview",
    mime="application/x-iwork",
    extensions="pages numbers",  # not .key, which is also the extension of private keys
    signature=_is_iwork,
    read=_read,
    location="page",
    remark="reads the PDF preview that older versions of Pages, Numbers and Keynote save",
)
