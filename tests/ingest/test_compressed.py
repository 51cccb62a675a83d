"""Test compressed single files, which are read like the file inside, within limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import tracemalloc
from collections.abc import Callable

import pytest

from gnod.ingest.formats import ConversionFailed
from gnod.ingest.prepare import prepare
from gnod.types import source_line
from tests.ingest.unpacked import converted, failure, unpacked

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}
packed_with = pytest.mark.parametrize("suffix", PACKERS)


@packed_with
@pytest.mark.parametrize("name", ["guide.md", "page.html", "table.csv", "main.py", "changelog.Debian", "README"])
def test_the_content_decides(suffix: str, name: str) -> None:
    data = b"<!doctype html><title>T</title><h1>Head</h1>" if name.endswith("html") else b"# Head\n\n1,2\n"
    assert converted(PACKERS[suffix](data), f"folder.d/{name}.{suffix}") == converted(data, name)


def test_a_compressed_file_without_its_extension() -> None:
    assert converted(gzip.compress(b"# Head"), "README").markdown == "# Head"


def test_lines_are_those_of_the_text_inside() -> None:
    text = converted(gzip.compress(b"one\r\n\r\n\r\n\r\nfive\r\n"), "a.txt.gz")
    document = prepare(text, relative_path="a.txt.gz", source_hash="", stat=None)
    assert document.markdown == "one\n\nfive\n"
    assert source_line(document.line_map, 3) == 5


@packed_with
def test_concatenated_streams_are_one_text(suffix: str) -> None:
    pack = PACKERS[suffix]
    assert converted(pack(b"one ") + pack(b"two"), f"a.{suffix}").markdown == "one two"


@packed_with
def test_the_message_says_why_a_file_cannot_be_read(suffix: str) -> None:
    data = PACKERS[suffix](bytes(range(32, 127)) * 50)
    assert failure(b"", f"a.{suffix}").kind == "empty"
    assert failure(PACKERS[suffix](b""), f"a.txt.{suffix}").kind == "empty"
    assert failure(b"just words", f"a.{suffix}").message == f"This is not a .{suffix} file: it is plain text."
    cut = failure(data[: len(data) // 2], f"a.txt.{suffix}")
    assert (cut.kind, cut.message) == ("corrupt", f"The .{suffix} file is cut off: its end is missing.")
    damaged = failure(data[:12] + bytes(len(data) - 12), f"a.txt.{suffix}")
    assert damaged.kind == "corrupt"
    assert failure(data, "a.docx").kind == "corrupt"
    assert failure(data, "a.svgz").kind == "unsupported"
    assert failure(data, "a.md").kind == "binary"
    assert failure(PACKERS[suffix](b"\x7fELF\x02\x01\x01\0"), f"a.{suffix}").kind == "unsupported"


def test_words_may_begin_like_a_compressed_file() -> None:
    assert converted(b"BZh is how bzip2 begins", "README").markdown.startswith("BZh")


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz"])
def test_a_compressed_archive_is_read_as_an_archive(name: str) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        note = tarfile.TarInfo("note.md")
        note.size = 5
        archive.addfile(note, io.BytesIO(b"words"))
    assert unpacked(buffer.getvalue(), name).texts == {name: "- note.md\n", f"{name}!/note.md": "words\n"}


@pytest.mark.slow
@packed_with
def test_a_bomb_is_named_before_it_needs_memory(suffix: str) -> None:
    data = PACKERS[suffix](bytes(25_000_000))
    tracemalloc.start()
    found = failure(data, f"a.txt.{suffix}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.kind == "too_large"
    assert "bomb" in found.message
    assert peak < 60_000_000


def test_a_file_that_contains_itself_ends() -> None:
    layers = b"text"
    for _ in range(3):
        layers = gzip.compress(layers)
    assert converted(layers, "a.gz.gz.gz").markdown == "text"
    assert failure(gzip.compress(layers), "a.gz.gz.gz.gz").kind == "too_large"
    assert failure(gzip.compress(layers), "a.gz").kind == "too_large"


@packed_with
def test_damage_never_breaks_the_converter(suffix: str) -> None:
    data = PACKERS[suffix](b"The quick brown fox. " * 20)
    refused = 0
    for place in range(4, len(data), 7):
        bad = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        try:
            assert converted(bad, f"a.txt.{suffix}").markdown
        except ConversionFailed as failed:
            refused += failed.kind == "corrupt"
    assert refused
