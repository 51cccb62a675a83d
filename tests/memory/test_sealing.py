"""Encrypted data reveals nothing, and can be decrypted only with its context."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.errors import InvalidName, LimitExceeded, MemoryDamaged
from gnod.memory import records
from gnod.memory.key.sealing import Sealer
from gnod.memory.records import Body

KEY = b"k" * 32
SEALER = Sealer(KEY)


@given(st.binary(max_size=300), st.binary(max_size=30))
def test_it_opens_with_its_context_only(plain: bytes, context: bytes) -> None:
    sealed = SEALER.seal(plain, context)
    assert SEALER.open(sealed, context) == plain
    with pytest.raises(MemoryDamaged, match="gnoctl restore"):
        SEALER.open(sealed, context + b"x")
    with pytest.raises(MemoryDamaged):
        Sealer(b"K" * 32).open(sealed, context)


@given(st.data())
def test_every_flipped_bit_is_noticed(data: st.DataObject) -> None:
    sealed = bytearray(SEALER.seal(b"the tide turns at six", b"a"))
    at = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[at // 8] ^= 1 << at % 8
    with pytest.raises(MemoryDamaged):
        SEALER.open(bytes(sealed), b"a")


@pytest.mark.parametrize("sealed", [b"", b"short", bytes(12), bytes(27)])
def test_what_is_cut_off_is_noticed(sealed: bytes) -> None:
    with pytest.raises(MemoryDamaged):
        SEALER.open(sealed, b"a")


def test_the_same_text_is_sealed_otherwise_each_time() -> None:
    assert len({SEALER.seal(b"same", b"a") for _ in range(100)}) == 100


def test_lookups_are_by_subject_and_key() -> None:
    assert SEALER.lookup("topic", "auth") == Sealer(KEY).lookup("topic", "auth")
    found = {SEALER.lookup("topic", "auth"), SEALER.lookup("text", "auth"), SEALER.lookup("namespace", "auth")}
    assert len(found | {Sealer(b"K" * 32).lookup("topic", "auth"), SEALER.lookup("topic", "auths")}) == 5


def test_a_body_belongs_to_its_memory() -> None:
    body = Body(text="the tide\0turns", topics=["sea"])
    sealed = records.seal_body(SEALER, "m1", body)
    assert records.open_body(SEALER, "m1", sealed) == body
    with pytest.raises(MemoryDamaged):
        records.open_body(SEALER, "m2", sealed)
    with pytest.raises(MemoryDamaged):
        records.open_vector(SEALER, "m1", sealed)


def test_vectors_come_back_as_they_were() -> None:
    vector = np.random.default_rng(1).normal(size=384).astype(np.float32)
    sealed = records.seal_vector(SEALER, "m1", vector)
    assert records.open_vector(SEALER, "m1", sealed).tobytes() == vector.tobytes()


def test_copies_differ_in_spaces_only() -> None:
    def of(text: str) -> bytes:
        return records.fingerprint(SEALER, records.checked(text, []))

    assert of(" ssh  uses\n-P ") == of("ssh uses -P")
    assert of("cafe\u0301") == of("café")
    assert of("ssh uses -P") != of("ssh uses -p")
    assert of("x²") != of("x2")


class TestChecked:
    def test_topics_once_whatever_their_case(self) -> None:
        assert records.checked(" a ", ["Auth", " auth", "", "\u200b", "error   handling"]) == Body(
            text="a", topics=["Auth", "error handling"]
        )

    @pytest.mark.parametrize("text", ["", "  \n", "\u200b"])
    def test_nothing(self, text: str) -> None:
        with pytest.raises(LimitExceeded, match="the text is empty"):
            records.checked(text, [])

    def test_too_much(self) -> None:
        assert len(records.checked("x" * 65_536, []).text) == 65_536
        with pytest.raises(LimitExceeded, match="65,537"):
            records.checked("x" * 65_537, [])
        with pytest.raises(LimitExceeded, match="at most 32 topics"):
            records.checked("x", [f"t{n}" for n in range(33)])
        with pytest.raises(LimitExceeded, match="64 characters"):
            records.checked("x", ["y" * 65])

    def test_half_a_character(self) -> None:
        with pytest.raises(InvalidName, match="the text is not valid Unicode"):
            records.checked("half \ud83d", [])
        with pytest.raises(InvalidName, match="a topic"):
            records.checked("x", ["\udc80"])


def test_names_are_all_different() -> None:
    names = {records.new_name() for _ in range(1000)}
    assert len(names) == 1000
    assert all(len(name) == 11 and name[0] == "m" for name in names)
