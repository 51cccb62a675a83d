"""Reads annotations of PDF pages: filled-in fields, comments and attached files; also XML forms. Must not depend on the
text of pages."""

from __future__ import annotations

import ctypes
import html
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from gnod.ingest.formats.pdf import opened
from gnod.ingest.reading.converter import FileContent
from gnod.ingest.reading.result import ConversionFailed, Member
from gnod.ingest.reading.unpacking import LARGEST_MEMBER, check_depth

_MAX_ANNOTATIONS = 5_000
_HIDDEN = 2  # a flag of an annotation
_PASSWORD = 1 << 13  # a flag of a field
_TAG = re.compile(r"<(/?)([\w.:-]*+)[^<>]*+>")
_TEXTS = ("text", "exData", "xfa:data")  # elements of forms in XML: captions, captions in HTML, values


class Annotated(NamedTuple):
    """`page`: the page with its fields and stamps drawn into it. `values`: values of fields, including those that are
    not drawn. `attached`: the indices of attached files among the annotations of the page."""

    page: Any
    values: list[str]
    comments: list[str]
    attached: list[int]


def annotated(document: Any, number: int) -> Annotated:
    """Return the page `number`, from 0, without its comments. Errors of PDFium are not caught."""
    from pypdfium2 import raw  # type: ignore[import-untyped]

    found = Annotated(document[number], [], [], [])
    count = min(raw.FPDFPage_GetAnnotCount(found.page), _MAX_ANNOTATIONS)
    # Remove the last one first, so that the indices of the others do not change.
    lacking = [_take(found, document.formenv, at) for at in reversed(range(count))]
    if not any(lacking):
        return found
    raw.FPDFPage_Flatten(found.page, raw.FLAT_NORMALDISPLAY)
    found.page.close()
    return found._replace(page=document[number])


def _take(found: Annotated, form: Any, at: int) -> bool:
    """Record the content of an annotation, and remove a comment. Tell whether it has text that the page lacks."""
    from pypdfium2 import raw

    annotation = raw.FPDFPage_GetAnnot(found.page, at)
    kind = raw.FPDFAnnot_GetSubtype(annotation)
    is_hidden = bool(raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN)
    comment = ""
    if kind == raw.FPDF_ANNOT_WIDGET:
        found.values.insert(0, _value(form, annotation))
    elif kind not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP) and not is_hidden:
        comment = _string(partial(raw.FPDFAnnot_GetStringValue, annotation, b"Contents"))
    raw.FPDFPage_CloseAnnot(annotation)
    if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
        found.attached.insert(0, at)
    if comment:
        found.comments.insert(0, comment)
        raw.FPDFPage_RemoveAnnot(found.page, at)
    return not comment and kind in (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_FREETEXT)


def _value(form: Any, annotation: Any) -> str:
    """Return the value that was filled in or chosen; "" for buttons and passwords."""
    from pypdfium2 import raw

    texts = (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
    if form is None or raw.FPDFAnnot_GetFormFieldType(form, annotation) not in texts:
        return ""
    if raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return ""
    return _string(partial(raw.FPDFAnnot_GetFormFieldValue, form, annotation))


def _string(read: Callable[[Any, int], int]) -> str:
    """Return a text that PDFium writes as UTF-16, on one line."""
    size = read(None, 0)
    buffer = (ctypes.c_ushort * (size // 2))()
    read(buffer, size)
    return " ".join(bytes(buffer).decode("utf-16-le", "replace").replace("\0", "").split())


def xfa_texts(document: Any) -> list[str]:
    """Return the captions and values of an XML form (XFA), whose pages only Acrobat can build."""
    from pypdfium2 import raw

    if raw.FPDF_GetFormType(document.raw) != raw.FORMTYPE_XFA_FULL:
        return []
    found: list[str] = []
    size = ctypes.c_ulong()
    for at in range(raw.FPDF_GetXFAPacketCount(document.raw)):
        raw.FPDF_GetXFAPacketContent(document.raw, at, None, 0, size)
        packet = ctypes.create_string_buffer(size.value)
        raw.FPDF_GetXFAPacketContent(document.raw, at, packet, size.value, size)
        found += _texts_in(packet.raw.decode("utf-8", "replace"))
    return found


def _texts_in(xml: str) -> Iterator[str]:
    inside, last = 0, 0
    for tag in _TAG.finditer(xml):
        if inside and (text := " ".join(html.unescape(xml[last : tag.start()]).split())):
            yield text
        last = tag.end()
        if tag[2] in _TEXTS and not tag[0].endswith("/>"):
            inside += -1 if tag[1] else 1


def members(content: FileContent, attached: Sequence[tuple[int, int]]) -> Iterator[Member]:
    """Yield the files that are attached to the document, and to its pages at `attached`: (page, index among its
    annotations)."""
    import pypdfium2
    from pypdfium2 import raw

    with opened(content.data) as document:
        found = [document.get_attachment(at) for at in range(document.count_attachments())]
        for number, at in attached:
            annotation = raw.FPDFPage_GetAnnot(document[number], at)
            if file := raw.FPDFAnnot_GetFileAttachment(annotation):
                found.append(pypdfium2.PdfAttachment(file, document))
        for attachment in found:
            name = attachment.get_name() or "attachment"
            yield Member(name, partial(_attached, content, attachment, name))


def _attached(content: FileContent, attachment: Any, name: str) -> FileContent:
    import pypdfium2

    check_depth(content)
    content.allowance.take_member()
    try:
        data = bytes(attachment.get_data())
    except pypdfium2.PdfiumError as error:
        raise ConversionFailed("corrupt", "The attachment cannot be decoded, or is empty.") from error
    if len(data) > LARGEST_MEMBER:
        raise ConversionFailed("too_large", f"{name[:100]} in the PDF has {len(data):,} bytes.")
    content.allowance.take_bytes(len(data))
    return content.inner(data, name, content.max_characters)
