"""Runs the models of a server as the inference worker runs model files: embedding, reranking, chat. Holds no state."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from gnod.egress import Purpose
from gnod.errors import EndpointFailed
from gnod.models.encoder import Matrix
from gnod.models.remote.connection import NotThere, RequestRefused
from gnod.models.remote.server import BATCH_TEXTS, FIXED_TEXT, Server
from gnod.models.run.engines import packed, sigmoid
from gnod.models.run.inference import OnChunk, RequestFailed
from gnod.models.run.messages import (
    DocumentScored,
    Generate,
    Measure,
    ModelSpec,
    Rank,
    RoomMeasured,
    StreamedWork,
    TextGenerated,
)

# By default, servers accept a few thousand tokens at once.
_BATCH_CHARACTERS = 24_000
# The number of documents in a reranking request. When time runs out, the documents of the last request stay unscored.
_RANK_TEXTS = 8
# The most tokens of query and document together: the batch size of llama-server, which refuses more.
_ROOM = 512
_SHORTEST_CUT = 500
# Texts to measure a reranker: a query, a passage that answers it, and others that do not.
_PROBE = "when do the herons come back to the harbour"
_PASSAGES = (
    f"{FIXED_TEXT} They come back in March, when the ice has gone, and stay until the first storms of October.",
    "Compound interest is computed on the initial principal and on the interest of all periods before it.",
    "Knead flour, water and yeast for ten minutes, let the dough rest for an hour, and bake it in a hot oven.",
    "The parser reads one token at a time and reports the line and the column of the first one it cannot use.",
)
# These fields constrain the output if the server supports them. If a server refuses them, the request is repeated
# without them.
_OPTIONAL = ("grammar", "stream_options", "seed")


# The formats of servers: OpenAI's embeddings and chat, and `/rerank` of llama-server, vLLM, TEI and Infinity.


class Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int | None = 0
    total_tokens: int = 0


class Embedding(msgspec.Struct, frozen=True):
    embedding: list[float]
    index: int | None = None


class EmbeddingsResponse(msgspec.Struct, frozen=True):
    data: list[Embedding]


class Score(msgspec.Struct, frozen=True):
    """`score` is TEI's name for it."""

    index: int
    relevance_score: float | None = None
    score: float | None = None

    @property
    def value(self) -> float:
        return next((value for value in (self.relevance_score, self.score) if value is not None), float("nan"))


class RerankResponse(msgspec.Struct, frozen=True):
    results: list[Score]
    usage: Usage | None = None


class Delta(msgspec.Struct, frozen=True):
    content: str | None = None


class CompletionChoice(msgspec.Struct, frozen=True):
    delta: Delta = Delta()
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct, frozen=True):
    choices: list[CompletionChoice] = []
    usage: Usage | None = None
    error: msgspec.Raw = msgspec.Raw()


_EMBEDDINGS = msgspec.json.Decoder(EmbeddingsResponse)
# TEI sends the bare list.
_SCORES = msgspec.json.Decoder(RerankResponse | list[Score])
_CHAT_CHUNK = msgspec.json.Decoder(ChatChunk)


class RemoteRunner:
    """Runs the model of a server for one purpose. All methods raise EgressForbidden and EndpointFailed."""

    def __init__(self, server: Server, purpose: Purpose) -> None:
        self._server = server
        self._purpose = purpose
        self._connection = server.connection
        self._path = server.endpoint.base.removeprefix(server.endpoint.origin)

    async def embed(
        self,
        model: ModelSpec,  # noqa: ARG002  (the server has loaded it)
        texts: Sequence[str],
        *,
        interactive: bool,
    ) -> Matrix:
        """Return the vectors of the texts. Also raises EndpointChanged, and RequestFailed for a text that the server
        refuses."""
        tasks = [
            asyncio.create_task(self._embed(batch, interactive))
            for batch in packed(texts, len, limit=_BATCH_CHARACTERS, most=BATCH_TEXTS)
        ]
        try:
            done = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return np.concatenate(done) if done else np.zeros((0, 0), np.float32)

    async def run(self, work: StreamedWork, on_chunk: OnChunk = lambda _: None) -> None:
        match work:
            case Rank():
                await self._rank(work, on_chunk)
            case Measure():
                await self._measure(work, on_chunk)
            case Generate():
                await self._generate(work, on_chunk)

    async def _embed(self, texts: Sequence[str], interactive: bool) -> Matrix:
        """Embed one batch. If the server refuses it, send halves; of a text that is too long, send what the server
        reads."""
        try:
            async with self._server.turn(interactive=interactive):
                return await self._vectors(texts, interactive)
        except RequestRefused as refused:
            await self._still_embeds(refused, interactive)
            if len(texts) == 1 and len(texts[0]) < 2 * _SHORTEST_CUT:
                raise RequestFailed(refused.message, refused.details) from refused
        middle = len(texts) // 2
        if not middle:
            return await self._embed([texts[0][: len(texts[0]) // 2]], interactive)
        return np.concatenate([await self._embed(half, interactive) for half in (texts[:middle], texts[middle:])])

    async def _still_embeds(self, refused: RequestRefused, interactive: bool) -> None:
        """Find out whether the server refuses only these texts, or every text. Raises EndpointFailed."""
        try:
            await self._vectors([], interactive)
        except RequestRefused:
            raise EndpointFailed(refused.message, refused.details) from refused

    async def _vectors(self, texts: Sequence[str], interactive: bool) -> Matrix:
        """Send one request, with the fixed text first."""
        body = {"model": self._server.endpoint.model, "input": [FIXED_TEXT, *texts]}
        content = await self._connection.post(f"{self._path}/embeddings", body, self._purpose, interactive=interactive)
        rows = self._rows(content, len(texts) + 1)
        await self._server.verify(rows[0])
        return rows[1:]

    def _rows(self, content: bytes, count: int) -> Matrix:
        """Return the vectors of an answer, scaled to length 1. Raises EndpointFailed."""
        try:
            data = _EMBEDDINGS.decode(content).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            what = "sent vectors that are not numbers" if b"NaN" in content or b"null" in content else "sent no vectors"
            raise self._connection.unreadable(content, what) from None
        if len(data) != count:
            raise self._connection.unreadable(b"", f"sent {len(data)} vectors for {count} texts")
        if all(row.index is not None for row in data):
            data = sorted(data, key=lambda row: row.index or 0)
        if len({len(row.embedding) for row in data}) != 1 or not data[0].embedding:
            raise self._connection.unreadable(b"", "sent vectors of different lengths")
        rows = np.array([row.embedding for row in data], np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._connection.unreadable(b"", "sent vectors that are not finite, or zero")
        return np.asarray(rows / lengths, np.float32)

    async def _rank(self, work: Rank, on_chunk: OnChunk) -> None:
        started, tokens = time.monotonic(), 0
        for first in range(0, len(work.documents), _RANK_TEXTS):
            scores, read = await self._scores(work.query, work.documents[first : first + _RANK_TEXTS])
            tokens += read
            for score in scores:
                on_chunk(DocumentScored(id=work.id, score=score, tokens=tokens, took_s=time.monotonic() - started))

    async def _measure(self, work: Measure, on_chunk: OnChunk) -> None:
        """Find out how fast the server reads, and whether its scores are probabilities or logits. The first request
        may load the model."""
        await self._scores(_PROBE, _PASSAGES)
        started = time.monotonic()
        await self._scores(_PROBE, _PASSAGES)
        took_s = time.monotonic() - started
        characters = sum(len(_PROBE) + len(passage) for passage in _PASSAGES)
        on_chunk(RoomMeasured(id=work.id, room=_ROOM, characters_per_s=characters / max(took_s, 1e-3)))

    async def _scores(self, query: str, documents: Sequence[str]) -> tuple[list[float], int]:
        """Return the scores in [0, 1], and the tokens. Raises EndpointFailed."""
        content = await self._ask_for_scores(query, documents)
        try:
            answer = _SCORES.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self._connection.unreadable(content, "sent no scores") from None
        found, usage = (answer, None) if isinstance(answer, list) else (answer.results, answer.usage)
        values = {item.index: item.value for item in found}
        if values.keys() != set(range(len(documents))) or not all(map(math.isfinite, values.values())):
            raise self._connection.unreadable(b"", f"did not send a score for each of {len(documents)} documents")
        if any(not 0 <= value <= 1 for value in values.values()):
            self._server.has_logits = True
        scores = [values[number] for number in range(len(documents))]
        return [sigmoid(score) if self._server.has_logits else score for score in scores], (
            usage.total_tokens if usage else 0
        )

    async def _ask_for_scores(self, query: str, documents: Sequence[str]) -> bytes:
        """Send the request in the format of llama-server, vLLM and Infinity, then in TEI's: at the root of the server,
        with other names. Remember the format that works."""
        server = self._server
        try:
            return await self._rerank_request(query, documents)
        except NotThere:
            if server.asks_root or not self._path:
                raise
            server.asks_root = True
            return await self._ask_for_scores(query, documents)
        except RequestRefused as refused:
            if server.sends_texts or refused.status not in (400, 422):
                raise
            server.sends_texts = True
            try:
                return await self._rerank_request(query, documents)
            except EndpointFailed:
                server.sends_texts = False
                raise refused from None

    async def _rerank_request(self, query: str, documents: Sequence[str]) -> bytes:
        path = "/rerank" if self._server.asks_root else f"{self._path}/rerank"
        if self._server.sends_texts:
            body: dict[str, object] = {"query": query, "texts": documents, "truncate": True}
        else:
            body = {"model": self._server.endpoint.model, "query": query, "documents": documents}
        return await self._connection.post(path, body, self._purpose, interactive=True)

    async def _generate(self, work: Generate, on_chunk: OnChunk) -> None:
        body = {
            "model": self._server.endpoint.model,
            "messages": [{"role": role, "content": content} for role, content in work.messages],
            "max_tokens": work.max_tokens,
            "temperature": 0,
            "seed": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            **({"grammar": work.grammar} if work.grammar else {}),
        }
        body = {name: value for name, value in body.items() if name not in self._server.unknown_fields}
        try:
            await self._stream(work, body, on_chunk)
        except RequestRefused as refused:
            if refused.status not in (400, 422) or self._server.unknown_fields:
                raise
            self._server.unknown_fields.update(_OPTIONAL)
            await self._stream(work, {k: v for k, v in body.items() if k not in _OPTIONAL}, on_chunk)

    async def _stream(self, work: Generate, body: dict[str, object], on_chunk: OnChunk) -> None:
        started, tokens, prompt_tokens = time.monotonic(), 0, 0
        finish: Literal["stop", "length"] | None = None

        def report(text: str, ended: Literal["stop", "length"] | None = None) -> None:
            took_s = time.monotonic() - started
            on_chunk(
                TextGenerated(
                    id=work.id, text=text, finish=ended, prompt_tokens=prompt_tokens, tokens=tokens, took_s=took_s
                )
            )

        async for line in self._connection.lines(f"{self._path}/chat/completions", body, self._purpose):
            if not line.startswith(b"data:"):
                if line and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                    raise self._connection.unreadable(line, "did not stream an answer")
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                finish = finish or "stop"
                break
            try:
                chunk = _CHAT_CHUNK.decode(data)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                raise self._connection.unreadable(data, "did not stream an answer") from None
            if bytes(chunk.error) not in (b"", b"null"):
                raise self._connection.unreadable(b"", "stopped with an error: see its log")
            for choice in chunk.choices:
                finish = _finish(choice.finish_reason) or finish
                tokens += bool(choice.delta.content)
                report(choice.delta.content or "")
            if chunk.usage:
                prompt_tokens = chunk.usage.prompt_tokens
                tokens = chunk.usage.completion_tokens or tokens
        if finish is None:
            raise self._connection.unreadable(b"", "closed the connection in the middle of its answer")
        report("", finish)


def _finish(reason: str | None) -> Literal["stop", "length"] | None:
    if reason is None:
        return None
    return "length" if reason == "length" else "stop"
