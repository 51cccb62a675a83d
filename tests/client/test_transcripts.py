"""The turns in the sessions of agents are recognised by the form of their lines."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnoctl.commands.memory import transcripts
from gnoctl.commands.memory.transcripts import RecordCounts, TranscriptTurn, contains_secret, read_turns, texts_of

TIME = "2026-05-03T10:00:00.000Z"
ISO = "2026-05-03T10:00:00.000+00:00"


def read(*records: object, limit: int | None = None) -> tuple[list[TranscriptTurn], RecordCounts]:
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in records]
    counts = RecordCounts()
    return list(read_turns(io.BytesIO(b"\n".join(lines)), counts, limit)), counts


def user(content: object, **more: object) -> dict[str, object]:
    return {**more, "message": {"role": "user", "content": content}}


BLOCKS = [
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "text", "text": "Done."},
    {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "ls"}},
    {"type": "text", "text": "All of it."},
]
TYPED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}


@pytest.mark.parametrize(
    ("record", "speaker", "text", "when"),
    [
        ({"role": "user", "content": "use tabs"}, "User", "use tabs", None),
        (user("use tabs", type="user", timestamp=TIME, uuid="1"), "User", "use tabs", ISO),
        (
            {"type": "assistant", "timestamp": TIME, "message": {"role": "assistant", "content": BLOCKS}},
            *("Assistant", "Done.\n\nAll of it.", ISO),
        ),
        ({"timestamp": TIME, "type": "response_item", "payload": TYPED}, "User", "hello", ISO),
        ({"role": "model", "parts": [{"text": "hello"}], "time": 1777802400}, "Assistant", "hello", ISO),
        (
            {"author": {"role": "user"}, "content": {"parts": ["hello"]}, "create_time": 1777802400.0},
            *("User", "hello", ISO),
        ),
        ({"speaker": "Anna", "text": "hello", "ts": 1777802400000}, "Anna", "hello", ISO),
        ({"sender": "human", "message": "hello"}, "User", "hello", None),
    ],
)
def test_forms_of_turns(record: object, speaker: str, text: str, when: str | None) -> None:
    assert read(record) == ([TranscriptTurn(speaker, text, when)], RecordCounts(turns=1))


@pytest.mark.parametrize(
    "record",
    [
        {"role": "system", "content": "be brief"},
        user("Caveat: …", type="user", isMeta=True),
        user([{"type": "tool_result", "content": "a b"}]),
        user("<command-name>/clear</command-name>"),
        {"payload": {"type": "function_call", "name": "shell", "arguments": "{}"}},
        {"payload": {"type": "user_message", "message": "the same again"}},
        {"type": "summary", "summary": "about tabs"},
        {"role": "user", "content": "  "},
        {"role": 3, "content": "hello"},
        [],
        "text",
        None,
    ],
)
def test_records_that_are_not_turns(record: object) -> None:
    assert read(record) == ([], RecordCounts(other=1))


def test_many_turns_in_a_line_and_each_text_once() -> None:
    turns, counts = read(
        {"messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "one"},
    )
    assert [turn.text for turn in turns] == ["one", "two", "one"]
    assert (counts.turns, counts.repeated) == (3, 1)


def test_the_limit() -> None:
    records = [{"role": "user", "content": f"turn {n}"} for n in range(5)]
    assert [turn.text for turn in read(*records, limit=2)[0]] == ["turn 0", "turn 1"]


def test_damaged_lines_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "MAX_LINE_BYTES", 200)
    good = {"role": "user", "content": "hello"}
    long = {"role": "user", "content": "x" * 1000}
    deep = b"[" * 5000
    half = {"role": "user", "content": "half \ud800 of it"}
    turns, counts = read(
        b"\xef\xbb\xbf" + json.dumps(good).encode(), b"{broken", b"\x00\x01\xff", b"", long, deep[:150], half, good
    )
    assert [turn.text for turn in turns] == ["hello"]
    assert counts == RecordCounts(turns=1, broken=4, too_long=1, repeated=1)


@given(st.binary(max_size=300))
def test_any_file(data: bytes) -> None:
    list(read_turns(io.BytesIO(data), RecordCounts()))


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "message", "text", "time", "parts", "type"]), inner)
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_record(record: object) -> None:
    for turn in read(record)[0]:
        assert turn.speaker.strip()
        assert turn.text.strip()


@given(st.text(alphabet="ab \n", max_size=300), st.integers(5, 60))
def test_long_turns_are_split_without_loss(text: str, most: int) -> None:
    before = transcripts._MAX_TEXT
    transcripts._MAX_TEXT = most
    try:
        parts = transcripts._parts(text.strip())
    finally:
        transcripts._MAX_TEXT = before
    assert all(0 < len(part) <= most for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_long_turn_fits_into_memories() -> None:
    texts = texts_of(TranscriptTurn("x" * 64, "word " * 30_000, None))
    assert len(texts) == 3
    assert all(len(each) <= 65_536 for each in texts)
    assert texts[0].startswith("x" * 64 + " (1 of 3): word")


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn",
        "use AKIAIOSFODNN7ABCDEFG for it",
        "sk-ant-api03-" + "aB3" * 10,
        "xoxb-1234567890-abcdefghij",
        "postgres://anna:hunter22@db.example/x",
        "the password is hunter22",
        "PASSWORD=correcthorse",
        "Das Passwort ist geheim99",
        "api_key: 9f8e7d6c5b4a39281706f5e4d3c2b1a0",
        'Authorization: Bearer "q7Zx9Kp2Lm4Nv8Rt1Ws3"',
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    ],
)
def test_secrets(text: str) -> None:
    assert contains_secret(text)
    assert read({"role": "user", "content": text}) == ([], RecordCounts(secret=1))


@pytest.mark.parametrize(
    "text",
    [
        "the key of the garage hangs in the kitchen",
        "store the token in the keyring",
        "postgres://user:password@localhost/db",
        "git@github.com:anna/heron.git",
        "https://example.org:8080/a@b",
        "password: <your password>",
        "the foreign key references_documents_by_path",
        "secret santa is on Friday",
        "commit 6111c57 fixes it",
    ],
)
def test_no_secrets(text: str) -> None:
    assert not contains_secret(text)
