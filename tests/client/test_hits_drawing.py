"""Search results for people."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gnoctl.printing.hits import render, render_hit
from gnoctl.printing.terminal import Terminal, detect
from gnoctl.printing.text import cells, is_safe
from gnod.protocol.base import Freshness
from gnod.protocol.search import Hit, HitMatches, HitPassage, Reason
from tests.client.samples import SGR, few, found, hit, hostile_hits

PIPE = Terminal()
SCREEN = Terminal(colour=True, width=60)


def test_a_pipe_gets_plain_lines() -> None:
    assert list(render(found(hit()), PIPE)) == [
        "Blue-green deployment",
        "notes/deploy/blue.md:12  #a1b2c3d4  1.00",
        "  How to deploy to production",
        "  without a gap",
        "",
        "1 of 1 document · 3 ms",
    ]


def test_the_place_is_a_link_where_the_terminal_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for name in ("NO_COLOR", "FORCE_HYPERLINK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    file = hit(source="/d/a ü;.zip!/in.md")
    linked = f"\x1b]8;;file://{os.uname().nodename}/d/a%20%C3%BC%3B.zip\x1b\\notes/deploy/blue.md:12\x1b]8;;\x1b\\"
    assert linked in list(render_hit(file, detect()))[1]
    assert "\x1b]8" not in "".join(render_hit(hit(source="milvus://host/x"), detect()))
    for name, value in (("FORCE_HYPERLINK", "0"), ("TERM", "linux"), ("TERM", "dumb"), ("NO_COLOR", "1")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert "\x1b]8" not in "".join(render_hit(file, detect())), (name, value)


def test_a_hit_names_its_section_and_its_date() -> None:
    found_in = hit(
        heading="Deploy > Without a gap", explain={"bm25": 0.5}, date="2026-05-04T00:00:00Z", dated_by="created"
    )
    shown = list(render_hit(found_in, PIPE))
    assert shown[1] == "notes/deploy/blue.md:12 in Without a gap  #a1b2c3d4  1.00"
    assert shown[-1] == "  bm25 0.5 · date 2026-05-04 by `created`"
    by_file = hit(explain={"bm25": 0.5}, date="2026-05-04T00:00:00Z")
    assert list(render_hit(by_file, PIPE))[-1] == "  bm25 0.5 · date 2026-05-04 by the time of the file"


def test_a_terminal_gets_marks_and_a_right_edge() -> None:
    title, place, first, *_ = render_hit(hit(), SCREEN)
    assert title == "\x1b[1mBlue-green deployment\x1b[0m"
    assert cells(SGR.sub("", place)) == 60
    assert SGR.sub("", place).endswith("  #a1b2c3d4  1.00")
    assert first == "  How to \x1b[1;33mdeploy\x1b[0m to production"


def test_marks_stay_right_in_wrapped_and_numbered_lines() -> None:
    snippet = "eins zwei drei vier fünf sechs sieben acht\n\nneun zehn"
    long = hit(snippet=snippet, marks=[(10, 14), (43 + 1, 43 + 5)], line=7, snippet_line=7)
    shown = list(render_hit(long, Terminal(colour=True, width=30), line_numbers=True))[2:]
    assert [SGR.sub("", line) for line in shown] == [
        "      7  eins zwei drei vier",
        "      7  fünf sechs sieben",
        "      7  acht",
        "      9  neun zehn",
    ]
    assert "\x1b[1;33mdrei\x1b[0m" in shown[0]
    assert "\x1b[1;33mneun\x1b[0m" in shown[3]


def test_several_passages_stand_below_each_other_with_their_lines() -> None:
    passages = [
        HitPassage(line=12, end_line=14, snippet="How to deploy", snippet_line=12, marks=[(7, 13)]),
        HitPassage(line=40, end_line=40, snippet="Deploy\x1b[31m at noon", snippet_line=39),
    ]
    shown = list(render_hit(hit(passages=passages), PIPE))
    assert shown[2:] == ["  lines 12-14", "  How to deploy", "  line 40", "  Deploy␛[31m at noon"]
    counted = hit(passages=passages, matches=HitMatches(count=1000, exact=False, lines=[], pages=46))
    assert list(render_hit(counted, PIPE))[2] == "  1,000+ matches on 46+ pages"
    numbered = list(render_hit(hit(passages=passages), PIPE, line_numbers=True))
    assert numbered[3::2] == ["     12  How to deploy", "     39  Deploy␛[31m at noon"]


def test_the_whole_text_replaces_the_snippet() -> None:
    shown = list(render_hit(hit(text="a\nb\n"), PIPE, line_numbers=True))
    assert shown[2:] == ["      1  a", "      2  b"]


def test_what_is_missing_is_said_in_the_words_of_the_daemon() -> None:
    behind = Freshness(current=False, state="syncing: 3 files are not indexed yet", failed=2)
    assert list(render(found(hit(), freshness=behind), PIPE))[-1] == "syncing: 3 files are not indexed yet"


def test_failed_files_and_unwatched_folders_are_left_to_status() -> None:
    current = Freshness(current=True, state="current", failed=2, unwatched=["nfs"])
    assert list(render(found(hit(), freshness=current), PIPE))[-1] == "1 of 1 document · 3 ms"


@pytest.mark.parametrize(
    ("mode", "counted"),
    [("vector", "1 document"), ("similar", "1 document"), ("hybrid", "the best 1 of 1 document")],
)
def test_by_meaning_only_what_is_shown_is_counted(mode: str, counted: str) -> None:
    assert list(render(found(hit(), mode=mode), PIPE))[-1] == f"{counted} · 3 ms"


def test_hits_that_are_only_loosely_similar_stand_below_a_line() -> None:
    hits = [hit(title="far", loose=True), hit(title="near")]
    lines = list(render(replace(found(*hits, mode="hybrid"), loose=40), PIPE))
    near, line, far = (lines.index(each) for each in ("near", "only loosely similar:", "far"))
    assert near < line < far
    assert lines[-1].startswith("the best 2 of 2 documents; 40 documents are only loosely similar · ")


@pytest.mark.slow
@few
@given(hostile_hits(), st.sampled_from([None, 20, 60]), st.booleans(), st.booleans())
def test_no_document_reaches_the_terminal_unchecked(
    hostile: Hit, width: int | None, colour: bool, numbers: bool
) -> None:
    lines = list(render(found(hostile), Terminal(colour=colour, width=width), line_numbers=numbers))
    for line in lines:
        bare = SGR.sub("", line) if colour else line
        assert is_safe(bare)
        assert "\n" not in bare
        assert "\t" not in bare


@few
@given(hostile_hits())
def test_colours_change_nothing_but_colours(hostile: Hit) -> None:
    plain = list(render_hit(hostile, Terminal(width=40)))
    coloured = list(render_hit(hostile, Terminal(colour=True, width=40)))
    assert [SGR.sub("", line) for line in coloured] == plain


def test_why_a_document_is_related() -> None:
    reasons = [Reason(kind="links_to", number=2), Reason(kind="linked_from", number=1), Reason(kind="new", number=3)]
    lines = list(render(found(hit(reasons=reasons), mode="similar"), PIPE))
    assert lines[2] == "  → 2 links · ← 1 link · new 3"
