"""Test pictures in notes: which ones stay unchanged, become smaller, or are refused with a reason."""

from __future__ import annotations

import pytest
from PIL import Image

from gnod.ingest.formats.pdf.page_image import shown_picture
from gnod.ingest.reading.layers import PictureRead
from gnod.ingest.reading.result import ConversionFailed
from tests.pdf_files import pdf
from tests.pictures import encoded

SVG = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>x</script></svg>'


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_formats_of_browsers_stay_unchanged(kind: str) -> None:
    data = encoded(Image.new("RGB", (30, 20), "red"), kind=kind)
    assert shown_picture(data, is_svg=False) == PictureRead(mime=f"image/{kind.lower()}", data=data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_svg_stays_as_it_is(encoding: str) -> None:
    data = SVG.encode(encoding)
    assert shown_picture(data, is_svg=True) == PictureRead(mime="image/svg+xml", data=data)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "kind"), [((5000, 4000), "PNG"), ((30, 20), "BMP"), ((30, 20), "TIFF")])
def test_others_become_jpeg(size: tuple[int, int], kind: str) -> None:
    shown = shown_picture(encoded(Image.new("RGB", size, "red"), kind=kind), is_svg=False)
    assert (shown.mime, shown.data[:2]) == ("image/jpeg", b"\xff\xd8")


@pytest.mark.parametrize(
    ("data", "is_svg", "reason"),
    [
        (SVG.encode() + b" " * 2_000_000, True, "The SVG has 2.0 MB; at most 2 MB are shown."),
        (b"root:x:0:0", True, "The file is not an SVG."),
        (b"root:x:0:0", False, "The image is damaged: its header cannot be read."),
        (b"", False, "The image is damaged: its header cannot be read."),
        (pdf(["text"]), False, "The image is damaged: its header cannot be read."),
        (encoded(Image.new("1", (20_000, 20_000))), False, "The image has 400 megapixels; at most 120 are read."),
    ],
)
def test_a_picture_that_is_not_shown_has_a_reason(data: bytes, is_svg: bool, reason: str) -> None:
    with pytest.raises(ConversionFailed) as failed:
        shown_picture(data, is_svg=is_svg)
    assert failed.value.message == reason
