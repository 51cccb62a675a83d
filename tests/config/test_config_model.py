"""Scopes, and which contexts apply to a document."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.config import model
from gnod.config.model import Config, ContextConfig, ViewerConfig, contexts_for, parse_scope
from gnod.errors import InvalidReference


def config(*contexts: tuple[str, str]) -> Config:
    return Config(contexts=tuple(ContextConfig(scope=scope, text=text) for scope, text in contexts))


def test_the_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(model).failed == 0


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("/", (None, "")),
        (" notes: ", ("notes", "")),
        ("gno://notes", ("notes", "")),
        ("gno://notes/", ("notes", "")),
        ("gno://notes//a/b//", ("notes", "a/b")),
        ("gno://notes/e%CC%81", ("notes", "é")),
    ],
)
def test_scopes_are_parsed(scope: str, expected: tuple[str | None, str]) -> None:
    assert parse_scope(scope) == expected


@pytest.mark.parametrize(
    ("scope", "hint"),
    [
        ("", "expected '/'"),
        ("notes", "did you mean 'notes:'?"),
        ("notes/api", "did you mean 'gno://notes/api'?"),
        ("Notes:", "expected"),
        ("gno:///a", "expected"),
        ("gno://a/../b", "must not contain"),
    ],
)
def test_malformed_scopes_are_refused(scope: str, hint: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        parse_scope(scope)
    assert hint in caught.value.message


@given(st.text(max_size=8) | st.text(max_size=8).map("gno://a/".__add__))
def test_any_string_is_a_scope_or_a_clean_error(scope: str) -> None:
    try:
        parse_scope(scope)
    except InvalidReference as error:
        assert error.details == {"scope": model.normalise(scope)}  # noqa: PT017


def test_contexts_go_from_broad_to_specific() -> None:
    found = config(
        ("gno://work/api/v2", "v2"), ("gno://work/api", "api"), ("work:", "work"), ("/", "all"), ("other:", "no")
    )
    assert contexts_for(found.contexts, "work", "api/v2/x.md") == "all\nwork\napi\nv2"
    assert contexts_for(found.contexts, "work", "readme.md") == "all\nwork"
    assert contexts_for(found.contexts, "nowhere", "api/v2/x.md") == "all"


def test_a_prefix_covers_whole_segments_in_any_normal_form() -> None:
    found = config(("gno://work/projects/a", "A"), ("gno://work/caf\u00e9", "B"))
    assert contexts_for(found.contexts, "work", "projects/a/x.md") == "A"
    assert contexts_for(found.contexts, "work", "projects/a") == "A"
    assert contexts_for(found.contexts, "work", "projects/ab/x.md") is None
    assert contexts_for(found.contexts, "work", "cafe\u0301/x.md") == "B"


def test_equal_texts_appear_once() -> None:
    found = config(("/", "same"), ("work:", "same"), ("gno://work/", "other"))
    assert contexts_for(found.contexts, "work", "x") == "same\nother"
    assert contexts_for((), "work", "x") is None


def test_the_first_viewer_for_a_file_is_used() -> None:
    viewers = [((".tar.gz", ".pdf"), "a"), (("text/*",), "b"), (("*",), "c")]
    found = Config(viewers=tuple(ViewerConfig(files=files, command=(name,)) for files, name in viewers))
    assert found.viewer("x/A.PDF", "application/pdf") == ["a"]
    assert found.viewer("x.tar.gz", "application/gzip") == ["a"]
    assert found.viewer("x.md", "text/markdown") == ["b"]
    assert found.viewer("xpdf", "application/pdf") == ["c"]
    assert Config().viewer("x.md", "text/markdown") == []
