"""What model servers send: OpenAI's embeddings and chat, and `/rerank` as in llama-server, vLLM, TEI and Infinity."""

from __future__ import annotations

import msgspec


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
    """`score`: TEI's name."""

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


embeddings = msgspec.json.Decoder(EmbeddingsResponse)
# TEI sends the bare list.
scores = msgspec.json.Decoder(RerankResponse | list[Score])
chat_chunk = msgspec.json.Decoder(ChatChunk)
