"""Vectors that are begun before it is known which texts are wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from gnod.errors import NotEmbedded
from gnod.search.hybrid.budget import ahead
from gnod.search.meaning.vector_search import QueryVectors


class Embedding:
    """Counts what it embeds. `may_end`: until then, it computes."""

    def __init__(self) -> None:
        self.begun: list[list[str]] = []
        self.cancelled: list[list[str]] = []
        self.may_end = asyncio.Event()

    async def __call__(self, queries: Sequence[str], passages: Sequence[str]) -> QueryVectors:
        texts = [*queries, *passages]
        self.begun.append(texts)
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled.append(texts)
            raise
        if "bad" in texts:
            raise NotEmbedded("no vectors")
        return QueryVectors({"m": np.full((len(texts), 1), len(texts[0]), np.float32)}, {})


async def test_the_texts_are_sent_at_once_and_embedded_once() -> None:
    embed = Embedding()
    async with ahead(embed, ["renew"], ["a passage"]) as vectors:
        assert embed.begun == [["renew", "a passage"]]
        embed.may_end.set()
        assert (await vectors(("renew",), ("a passage",))).rows["m"].tolist() == [[5], [5]]
    assert len(embed.begun) == 1


async def test_others_are_embedded_where_these_are_wanted() -> None:
    embed = Embedding()
    async with ahead(embed, ["certifcate"], []) as vectors:
        asked = asyncio.ensure_future(vectors(["certificate"], []))
        await asyncio.sleep(0)
        embed.may_end.set()
        assert (await asked).rows["m"].tolist() == [[11]]
    assert embed.begun == [["certifcate"], ["certificate"]]


async def test_what_nobody_wants_is_cancelled() -> None:
    embed = Embedding()
    async with ahead(embed, [], []):
        assert embed.begun == []
    async with ahead(embed, ["renew"], []):
        pass
    await asyncio.sleep(0)
    assert embed.cancelled == [["renew"]]
    # One who did not wait to the end asks again, as for variants.
    async with ahead(embed, ["renew"], []) as vectors:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(vectors(["renew"], []), 0.001)
        embed.may_end.set()
        assert (await vectors(["renew"], [])).rows["m"].tolist() == [[5]]


async def test_an_error_is_raised_where_the_vectors_are_wanted() -> None:
    embed = Embedding()
    embed.may_end.set()
    async with ahead(embed, ["bad"], []) as vectors:
        with pytest.raises(NotEmbedded):
            await vectors(["bad"], [])
    async with ahead(embed, ["bad"], []):
        await asyncio.sleep(0)  # fails, and nobody asks
