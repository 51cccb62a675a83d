from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.analysis.markup import head_end, readings, without_marks
from gnod.analysis.terms import visible
from gnod.ingest.reading.cpu_time import limit_cpu_time


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("un**believ**able", "unbelievable"),
        ("**H**ello *W*orld", "**Hello *World"),
        ("Auto**bahn**", "Autobahn**"),
        ("un**believable things**", "unbelievable things**"),
        ("ab~~cd~~ef ab==cd==ef", "abcdef abcdef"),
        (r"retry\_with\_backoff 1\. a\*b", "retry_with_backoff 1. a*b"),
        ("caf&eacute; AT&amp;T x&#233;y &#xE9;", "café AT&T xéy é"),
        ("long&shy;er", "longer"),
        ("<b>H</b>ello wide<wbr>break<br>", "Hello widebreak<br>"),
        ('<span style="x: y">dr</span>op', "drop"),
        ("<ruby>大<rt>おお</rt>阪<rt>さか</rt></ruby>に", "大阪に"),
        ("<ruby>瞬<rp>(</rp><rt>しゅん</rt><rp>)</rp></ruby><ruby>間<rt>かん</ruby>", "瞬間"),
        ("東京《とうきょう》へ", "東京へ"),
        # These are not marks, or are code.
        ("2*3*4 5 * 6\nx*y", "2*3*4 5 * 6\nx*y"),
        ("`a*b*c &amp; un**x**y`", "`a*b*c &amp; un**x**y`"),
        ("```c\nw*h*d\n```\n", "```c\nw*h*d\n```\n"),
        ("~~~\na*b*c\n", "~~~\na*b*c\n"),
        ("```\na*b*c\n```\nd*e*f\n   ~~~~\na*b*c\n~~~~\nd*e*f", "```\na*b*c\n```\ndef\n   ~~~~\na*b*c\n~~~~\ndef"),
        ("***un***believable ```a*b*c``` d*e*f", "***unbelievable ```a*b*c``` def"),
        ("&bogus; AT&T a&b;", "&bogus; AT&T a&b;"),
        ("one <a href='https://example.org/page'>two</a>", "one <a href='https://example.org/page'>two</a>"),
        ("《とうきょう》", "《とうきょう》"),
    ],
)
def test_words_have_no_marks_in_them(text: str, words: str) -> None:
    assert visible(without_marks(text)) == words


def test_readings_are_kept_beside_the_text() -> None:
    assert readings("<ruby>東<rt>とう</rt>京<RT>きょう</rt></ruby> 大阪《おおさか》") == "とうきょう おおさか"
    assert readings("no <b>ruby</b>") == ""


@given(
    st.lists(st.sampled_from([*"ab *_~=`\\&;<>\n《》東と#", "**", "&amp;", "<b>", "<rt>", "</rt>", "```\n"])).map(
        "".join
    )
)
def test_removing_marks_keeps_offsets(text: str) -> None:
    bare = without_marks(text)
    assert len(bare) == len(text)
    assert bare.count("\n") == text.count("\n")


@pytest.mark.stress
@pytest.mark.parametrize("part", ["a**", "<rt>", "`", "```\n", "&", "\\", "a*b ", "<b ", "東《と", "~~~\n~~~\n"])
def test_no_text_takes_long(part: str) -> None:
    with limit_cpu_time(10):
        without_marks(part * 100_000)
        readings(part * 100_000)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("---\na: 1\n---\nbody\n", "body\n"),
        ("---\n---\nbody\n", "body\n"),
        ("---\na: 1\n...\nbody\n", "body\n"),
        ("+++\na = 1\n+++\nbody\n", "body\n"),
        ('{\n  "a": {"b": 1}\n}\nbody\n', "body\n"),
        ("---\nnever closed\n", "---\nnever closed\n"),
        ('{"a": 1}\n{"a": 2}\n', '{"a": 1}\n{"a": 2}\n'),
    ],
)
def test_the_head_ends_where_the_body_starts(text: str, rest: str) -> None:
    assert text[head_end(text) :] == rest
