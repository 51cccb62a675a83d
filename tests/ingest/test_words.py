"""Test which parts of a text have words, and that keyword search finds the others although they are not embedded."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnod.ingest.text.words import has_words
from gnod.models.readability import samples
from gnod.store.vectors import vectors
from tests.small_index import SmallIndex

REPOSITORY = Path(__file__).resolve().parents[2]
URI = "file:/models/mini.gguf"

# Texts in scripts without spaces: Han, hiragana, katakana, Thai, Lao, Khmer, Burmese, Tibetan.
_SPACELESS = [
    st.text(st.characters(min_codepoint=first, max_codepoint=last, categories=["Lo"]), min_size=1)
    for first, last in (
        (0x4E00, 0x9FA5),
        (0x3041, 0x3096),
        (0x30A1, 0x30FA),
        (0x0E01, 0x0E2E),
        (0x0E81, 0x0EAE),
        (0x1780, 0x17B3),
        (0x1000, 0x102A),
        (0x0F40, 0x0F6C),
    )
]
_TABLE = "".join(f"{number / 7:.4f} | {number / 3:.2f}\n" for number in range(900))


@pytest.mark.parametrize("language", samples())
def test_every_language_has_words(language: str) -> None:
    sample = samples()[language]
    for sentence in (*sample.statements, *sample.questions):
        assert has_words(sentence)
        assert has_words(f"{sentence} ({'7' * len(sentence)})"), "next to as many figures"


@given(st.one_of(_SPACELESS))
def test_scripts_without_spaces_have_words(text: str) -> None:
    assert has_words(text)
    assert has_words(f"{text} {'3' * len(text)}")


def _source() -> Iterator[str]:
    """Yield parts of this project's source: Python, JavaScript, CSS, Lisp, Lua."""
    for folder in ("gnod", "gnoctl", "benchmarks", "editors"):
        for path in (REPOSITORY / folder).rglob("*"):
            if path.suffix in {".py", ".js", ".css", ".el", ".lua"}:
                text = path.read_text()
                yield from (text[start : start + 800] for start in range(0, len(text), 800))


@pytest.mark.slow
def test_source_code_has_words() -> None:
    assert [part for part in _source() if len(part) > 100 and not has_words(part)] == []


@pytest.mark.parametrize(
    "code",
    [
        "for(let i=0;i<n;i++){a[i]=b[i]*c[i]+d[i];if(a[i]>m)m=a[i];}",
        "mov eax, [ebp+8]\nadd eax, ecx\njmp 0x4010a0\nxor edx, edx\nret",
        "let rec fib n = if n < 2 then n else fib (n-1) + fib (n-2)",
        "(defun f (x) (if (< x 1) 0 (+ x (f (- x 1)))))",
        "SELECT a.id, b.x FROM t1 a JOIN t2 b ON a.id = b.id WHERE b.x > 10;",
        "\\frac{\\partial f}{\\partial x} = \\sum_{i=1}^{n} x_i^2 + \\int_0^1 g(t)\\,dt",
        "id,city,population\n1,Oslo,709037\n2,Bergen,291940\n3,Trondheim,214565",
        "2026-11-26T01:02:03Z ERROR [7f3a] db: timeout after 3000 ms (10.0.0.3:5432)",
    ],
)
def test_code_formulas_and_tables_of_names_have_words(code: str) -> None:
    assert has_words(code)
    assert has_words(f"{code}\n" * 60)


@pytest.mark.parametrize(
    "made",
    [
        lambda draw: "\n".join(" | ".join(f"{draw.uniform(-1e4, 1e4):.3f}" for _ in range(6)) for _ in range(60)),
        lambda draw: "\n".join(",".join(str(draw.randrange(10**6)) for _ in range(8)) for _ in range(50)),
        lambda draw: "\n".join(f"{draw.getrandbits(256):064x}" for _ in range(40)),
        lambda draw: base64.encodebytes(draw.randbytes(2000)).decode(),
        lambda draw: base64.b64encode(draw.randbytes(2000)).decode(),
        lambda draw: "data:image/png;base64," + base64.urlsafe_b64encode(draw.randbytes(2000)).decode(),
        lambda draw: "\n".join(f"{line:08x}  {draw.randbytes(16).hex(' ')}" for line in range(60)),
        lambda draw: "".join(f"M{draw.random():.4f},{draw.random():.4f}l{draw.random():.3f} " for _ in range(90)),
        lambda draw: "·" * 500 + f" {draw.randrange(90)}\n" + "=" * 800,
    ],
)
@given(seed=st.integers(0, 2**32))
def test_numbers_and_encoded_data_have_no_words(made: Callable[[random.Random], str], seed: int) -> None:
    assert not has_words(made(random.Random(seed)))


@example(["3.25", "|", "|", "風"])
@given(st.lists(st.sampled_from(["3.25", "wind", "|", "0x1f", "Tide", "—", "風"]), min_size=1))
def test_the_padding_of_a_table_does_not_matter(cells: list[str]) -> None:
    narrow = "|".join(cells)
    assert has_words("     |     ".join(cells)) == has_words(narrow)
    assert has_words(f"{_TABLE}\n{narrow}") == has_words(narrow), "a paragraph below many figures"
    assert has_words(f"{narrow}\n{'-' * 900}") == has_words(f"{narrow}\n-")


def test_numbers_are_not_embedded_and_found_by_keyword(small_index: SmallIndex) -> None:
    small_index.add({"one.md": f"# Tides\n\nHeights at Bergen.\n\n{_TABLE}\n# Method\n\nA gauge in the harbour.\n"})
    texts = [each.text for each in vectors.pending(small_index.reader, URI, ["notes"], 100)]
    assert len(texts) == 2
    assert ["Bergen" in text or "harbour" in text for text in texts] == [True, True]
    small_index.embed(URI)
    (covered,) = vectors.coverage(small_index.reader, {"notes": URI})
    assert covered.wordless == covered.chunks - 2 > 3
    assert (covered.embedded, covered.failed, covered.in_brief, covered.in_full) == (2, 0, 1, 1)
    assert small_index.search("128.4286") == ["one.md"]


def test_the_same_numbers_in_other_documents_cost_nothing(small_index: SmallIndex) -> None:
    small_index.add({f"{n}.csv.md": f"# Series {n}\n\n{_TABLE}" for n in range(3)})
    assert small_index.embed(URI) == 3
    small_index.remove("0.csv.md")
    (covered,) = vectors.coverage(small_index.reader, {"notes": URI})
    assert covered.chunks == covered.wordless + 2
    assert vectors.count_pending(small_index.reader, URI, ["notes"]) == 0
