"""`gnoctl ask` against the fake daemon: its requests, its output, and the draft on a terminal."""

from __future__ import annotations

import io
import sys

import msgspec
import pytest
from msgspec.structs import replace

from gnoctl.printing.answers import DrawnDraft
from gnoctl.printing.terminal import Terminal
from gnod.protocol.base import ProgressValue
from gnod.protocol.evidence import AskVerifyParams, AskVerifyResult, CheckedCitation, VerifiedClaim
from gnod.protocol.search import AskParams, AskResult
from tests.client import samples
from tests.client.conftest import Gnoctl, on_a_terminal
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import quote, source

ANSWERED = AskResult(
    question="What is the kitten called?",
    answer="The kitten is called Miso [2].",
    answered=True,
    confidence=0.9,
    sources=[source(1, "dogs.md"), source(2, "cats.md", cited=True, line=3, end_line=3)],
    citations=[2],
    model="file:/m.gguf",
    finish="stop",
    took_ms=1234.0,
    freshness=samples.CURRENT,
)
QUOTES = [quote("The kitten\nis called Miso.", heading="Cats > Names", kind="sentence", line=3, end_line=4), quote()]
QUOTES_ONLY = replace(
    ANSWERED,
    citations=[],
    quotes=QUOTES,
    answer="",
    reason="no_model",
    sources=[],
    model=None,
    no_model_reason="no model: run `gnoctl models pull answer`",
)
NOT_FOUND = replace(
    QUOTES_ONLY,
    quotes=[replace(quote, perhaps=True) for quote in QUOTES],
    answered=False,
    confidence=0.2,
    reason="not_found",
)


@pytest.fixture(autouse=True)
def answering(daemon: FakeDaemon) -> None:
    daemon.answers["ask.answer"] = ANSWERED
    daemon.progress["ask.answer"] = [
        ProgressValue(stage="searching", done=0),
        ProgressValue(stage="sources", done=2, total=2, sources=ANSWERED.sources),
        ProgressValue(stage="reading", done=0, total=2),
        ProgressValue(stage="answer", done=9, text="It is \x1b[31m"),
        ProgressValue(stage="answer", done=20, text="Miso, I guess [9]"),
    ]


def test_it_asks_for_what_was_typed(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    words = ["ask", "what", "is", "it?", *samples.FILTERS, "-n", "3", "--max-tokens", "99"]
    gnoctl(*words, "--no-expand", "--no-rerank", "--json")
    asked = replace(daemon.asked(AskParams), progress_token=None)
    assert asked == AskParams(
        question="what is it?", limit=3, max_tokens=99, expand=False, rerank=False, **samples.FILTERED
    )


def test_a_pipe_gets_the_checked_answer_and_its_sources(gnoctl: Gnoctl) -> None:
    outcome = gnoctl("ask", "what")
    assert outcome == (
        0,
        "The kitten is called Miso [2].\n\n[2] notes/cats.md:3  A title\n[1] notes/dogs.md:12-20  A title\n",
        "",
    )


def test_json_is_the_result_and_nothing_else(gnoctl: Gnoctl) -> None:
    outcome = gnoctl("ask", "what", "--json")
    assert (outcome.status, outcome.err) == (0, "")
    assert msgspec.json.decode(outcome.out, type=AskResult) == ANSWERED


def test_quotes_without_a_generated_text_say_why(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    no_model = "no model: run `gnoctl models pull answer`"
    for reason, no_model_reason, said in (
        ("unsupported", None, "(no source supports what the model wrote)\n"),
        ("model_declined", None, "(the model finds no answer in these sources)\n"),
        ("no_sources", None, "(no passage is near enough for the model to answer from)\n"),
        ("no_model", no_model, f"(quotes only: {no_model})\n"),
        ("not_wanted", None, ""),
    ):
        daemon.answers["ask.answer"] = replace(QUOTES_ONLY, reason=reason, no_model_reason=no_model_reason)
        outcome = gnoctl("ask", "what")
        assert outcome.status == 0
        assert outcome.out.startswith("notes/cats.md:3-4  Cats > Names\n  The kitten\n  is called Miso.\n")
        assert outcome.out.endswith(f"  name: Miso\n\n{said}"), reason
        assert "do not say" not in outcome.out


def test_what_the_documents_do_not_say_is_no_failure(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["ask.answer"] = NOT_FOUND
    outcome = gnoctl("ask", "what")
    assert outcome.status == 0
    assert outcome.out.startswith(
        "Your documents do not say. Perhaps:\n\nnotes/cats.md:3-4  Cats > Names\n  The kitten\n"
    )
    assert outcome.out.count("do not say") == 1
    daemon.answers["ask.answer"] = replace(NOT_FOUND, quotes=[])
    assert gnoctl("ask", "what").out.startswith("Your documents do not say.\n(quotes only: no model")


def test_the_parts_of_the_confidence_are_explained(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    explain: dict[str, object] = {"stages": [], "confidence": {"words": 0.5, "lead": 0.25}}
    daemon.answers["ask.answer"] = replace(NOT_FOUND, explain=explain)
    assert "confidence 0.200 · words 0.500 · lead 0.250\n" in gnoctl("ask", "what", "--explain").out


def test_an_answer_that_was_cut_off_says_so(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    for finish, said in {"length": "--max-tokens", "time": "took too long", "repetition": "repeated itself"}.items():
        daemon.answers["ask.answer"] = replace(ANSWERED, finish=finish)
        assert said in gnoctl("ask", "what").out


def test_quotes_stand_above_the_answer(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["ask.answer"] = replace(ANSWERED, quotes=QUOTES)
    assert gnoctl("ask", "what").out.startswith(
        "notes/cats.md:3-4  Cats > Names\n  The kitten\n  is called Miso.\n\n"
        "notes/cats.md:9  A title\n  name: Miso\n\nThe kitten is called Miso [2].\n"
    )


def test_a_generated_text_is_wanted_or_not(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    for option, wanted in {"--generate": True, "--no-generate": False}.items():
        daemon.calls.clear()
        gnoctl("ask", "what", option)
        assert daemon.asked(AskParams).generate is wanted
    assert "--no-generate cannot be used together" in gnoctl("ask", "what", "--generate", "--no-generate").err


def test_a_terminal_shows_the_draft_and_then_the_checked_answer(daemon: FakeDaemon) -> None:
    daemon.progress_pause_s = 0.02
    shown = on_a_terminal("ask", "what")
    said = shown.index("It is ␛[31mMiso, I guess [9]")
    assert "not checked yet:" in shown[:said]
    assert shown.index("searching …") < shown.index("reading 2 sources …") < said
    assert "\x1b[31m" not in shown
    assert shown.rindex("\x1b[J") < shown.index("The kitten is called Miso [2].")
    screen = _screen(shown)
    assert screen == [
        "The kitten is called Miso [2].",
        "",
        "[2] notes/cats.md:3  A title",
        "[1] notes/dogs.md:12-20  A title",
    ]


def test_a_terminal_shows_quotes_at_once_and_keeps_them(daemon: FakeDaemon) -> None:
    daemon.answers["ask.answer"] = replace(ANSWERED, quotes=QUOTES)
    daemon.progress["ask.answer"].insert(1, ProgressValue(stage="quotes", done=2, total=2, quotes=QUOTES))
    daemon.progress_pause_s = 0.02
    shown = on_a_terminal("ask", "what")
    assert shown.index("is called Miso.") < shown.index("Miso, I guess")
    assert _screen(shown)[:7] == [
        "notes/cats.md:3-4  Cats > Names",
        "  The kitten is called Miso.",
        "",
        "notes/cats.md:9  A title",
        "  name: Miso",
        "",
        "The kitten is called Miso [2].",
    ]


def test_a_terminal_says_above_the_quotes_that_they_do_not_answer(daemon: FakeDaemon) -> None:
    daemon.answers["ask.answer"] = NOT_FOUND
    daemon.progress["ask.answer"] = [ProgressValue(stage="quotes", done=2, total=2, quotes=NOT_FOUND.quotes)]
    shown = _screen(on_a_terminal("ask", "what"))
    assert shown[:3] == ["Your documents do not say. Perhaps:", "", "notes/cats.md:3-4  Cats > Names"]
    assert shown[-1].startswith("(quotes only: no model")


def test_a_dumb_terminal_gets_the_checked_answer_only(daemon: FakeDaemon) -> None:
    assert "guess" not in on_a_terminal("ask", "what", TERM="dumb")
    assert "\x1b[J" not in on_a_terminal("ask", "what", "--quiet")


def test_a_long_draft_keeps_to_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with DrawnDraft(Terminal(width=40)) as draft:
        for number in range(200):
            draft(ProgressValue(stage="answer", done=0, text=f"Line {number}.\n\n"))
    assert _screen(out.getvalue()) == []
    assert max(line.count("\n") for line in out.getvalue().split("\x1b[J")) <= 22


def _screen(written: str) -> list[str]:
    """Return the lines that a terminal shows at the end. Supports the sequences of a draft, and colours."""
    lines = [""]
    for piece in written.replace("\r\n", "\n").split("\x1b["):
        if piece[:1] == "J":
            lines = [*lines[:-1], ""]
            piece = piece[1:]
        elif piece.partition("A")[0].isdigit() and piece[:4].partition("A")[1]:
            count, _, piece = piece.partition("A")
            lines = lines[: -int(count)]
        elif piece.partition("m")[0].isdigit():
            piece = piece.partition("m")[2]
        first, *rest = piece.replace("\r", "").split("\n")
        lines[-1:] = [lines[-1] + first] if lines else [first]
        lines += rest
    return lines[:-1] if lines[-1] == "" else lines


VERIFIED = AskVerifyResult(
    claims=[
        VerifiedClaim(
            text="Miso is grey.",
            stance="supported",
            sentence=quote("Miso is\ngrey.", citation="gno://notes/cats.md:9@0"),
        ),
        VerifiedClaim(text="Miso is 3.", stance="contradicted", differs=["3 ≠ 4"], sentence=quote("Miso is 4.")),
        VerifiedClaim(text="Miso is tired.", stance="not_found"),
    ],
    citations=[
        CheckedCitation(
            citation="gno://notes/cats.md:3@0", state="moved", uri="gno://notes/cats.md", line=5, end_line=6
        )
    ],
    took_ms=1.0,
    freshness=samples.CURRENT,
)


def test_claims_are_shown_with_the_sentences_that_decide(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["ask.verify"] = VERIFIED
    outcome = gnoctl("ask", "--verify", "Miso", "is grey.", *samples.FILTERS, "-n", "3")
    asked = replace(daemon.asked(AskVerifyParams), progress_token=None)
    assert asked == AskVerifyParams(text="Miso is grey.", limit=3, **samples.FILTERED)
    assert outcome.status == 1
    assert outcome.out.splitlines() == [
        "supported:",
        "  Miso is grey.",
        "notes/cats.md:9",
        "  Miso is grey.",
        "gno://notes/cats.md:9@0",
        "",
        "contradicted (3 ≠ 4):",
        "  Miso is 3.",
        "notes/cats.md:9",
        "  Miso is 4.",
        "",
        "not in the documents:",
        "  Miso is tired.",
        "",
        "gno://notes/cats.md:3@0: moved to 5-6",
        "3 claims: 1 supported, 1 contradicted, 1 not found",
    ]


def test_the_exit_status_is_0_if_all_claims_and_citations_stand(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    for claims, state, status in (
        (VERIFIED.claims[:1], "moved", 0),
        ([], "unchanged", 0),
        ([], "changed", 1),
        ([], "gone", 1),
    ):
        daemon.answers["ask.verify"] = replace(
            VERIFIED, claims=claims, citations=[replace(VERIFIED.citations[0], state=state)]
        )
        assert gnoctl("ask", "--verify", "words", "--json").status == status
