"""`ask.answer`: search, read, answer, check.

The sources are sent before the answer begins, and the answer as the model says it: unchecked. What the result holds is
checked. A client that goes away, or cancels, ends the model's work too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from gnod.analysis.languages import detect_query
from gnod.analysis.terms import Analyzer
from gnod.errors import ModelNotConfigured, QuerySyntaxError
from gnod.models.generator import Generated, Generator
from gnod.pipeline.answering import citations, prompt
from gnod.pipeline.answering.citations import NOT_ENOUGH, Checked, Reading
from gnod.pipeline.answering.sources import NONSENSE, Asked, Candidate, Floats, Source, estimated_tokens, select
from gnod.pipeline.hybrid import Wishes
from gnod.protocol.params import AskParams
from gnod.protocol.results import AnswerSource, AskResult, ProgressValue
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers.asked import filters_of, milliseconds_since
from gnod.server.handlers.stages import stages_of
from gnod.server.index import Index
from gnod.store.filters import Filters

# A model on a processor says some words a second. What it has said by then is the answer.
LIMIT_S = 120.0
# However long the answer may be, something is read.
_MIN_SOURCE_TOKENS = 400

Stages = list[dict[str, object]]


def handlers(served: Index) -> Mapping[str, Handler]:
    nonsense: dict[str, Floats] = {}

    async def answer(params: AskParams, call: Call) -> AskResult:
        served.configuration.check_known(params.collections)
        filters = filters_of(params)
        if not params.question.strip():
            raise QuerySyntaxError("there is no question", {"reason": "empty_query"})
        generator = _generator(served, params.collections)
        if params.fresh:
            call.progress(ProgressValue(stage="taking in what changed", done=0))
            await served.make_fresh(params.collections, embedded=True)
        return await _Answering(served, params, filters, generator, nonsense, call).run()

    return {"ask.answer": answer}


class _Answering:
    """One question on its way."""

    def __init__(
        self,
        served: Index,
        params: AskParams,
        filters: Filters,
        generator: Generator,
        nonsense: dict[str, Floats],
        call: Call,
    ) -> None:
        self._served = served
        self._params = params
        self._filters = filters
        self._generator = generator
        self._nonsense = nonsense
        self._call = call
        self._started = time.perf_counter()
        self._stages: Stages = []

    async def run(self) -> AskResult:
        self._call.progress(ProgressValue(stage="searching", done=0))
        language = await asyncio.to_thread(detect_query, self._params.question)
        sources = await self._sources()
        if not sources:
            return await self._result(sources, None, None)
        shown = [_shown(source) for source in sources]
        self._call.say(ProgressValue(stage="sources", done=len(sources), total=len(sources), sources=shown))
        self._call.progress(ProgressValue(stage="reading", done=0, total=len(sources)))
        generated = await self._generate(sources, language)
        return await self._result(sources, generated, self._checked(sources, generated.text, language))

    async def _sources(self) -> list[Source]:
        wishes = Wishes(
            limit=self._params.limit,
            min_score=self._params.min_score,
            expand=self._params.expand,
            rerank=self._params.rerank,
        )
        question = self._params.question
        # A phrase in quotation marks must be there, as in every query; a mark that stands alone is an inch.
        query = question.replace('"', " ") if question.count('"') % 2 else question
        found = await self._served.querying.search(query, self._filters, wishes)
        self._stages += stages_of(found.stages)
        begun = time.perf_counter()
        vectors = found.vectors.row(0) if found.vectors else {}
        for uri in vectors.keys() - self._nonsense.keys():
            self._nonsense[uri] = await self._served.embedding.embedder(uri).texts(NONSENSE)
        served = found.vectors.served if found.vectors else {}
        asked = Asked(question, vectors, served, self._nonsense)
        candidates = [Candidate(ranked.document_id, ranked.score) for ranked in found.ranked]
        room = self._generator.context_tokens - self._params.max_tokens - prompt.TOKENS
        tokens = max(room - estimated_tokens(question), _MIN_SOURCE_TOKENS)
        sources = await self._served.read(lambda c: select(c, asked, candidates, tokens=tokens))
        self._stages.append(
            {"stage": "passages", "ran": True, "ms": milliseconds_since(begun), "sources": len(sources)}
        )
        return sources

    async def _generate(self, sources: Sequence[Source], language: str | None) -> Generated:
        begun = time.perf_counter()
        said = 0

        def hear(text: str) -> None:
            nonlocal said
            said += len(text)
            self._call.say(ProgressValue(stage="answering", done=said, unit="characters", text=text))

        generated = await self._generator.generate(
            prompt.build(self._params.question, sources, language),
            max_tokens=self._params.max_tokens,
            limit_s=LIMIT_S,
            on_text=hear,
        )
        stage: dict[str, object] = {"stage": "answer", "ran": True, "ms": milliseconds_since(begun)}
        stage |= {"model": self._generator.uri, "prompt_tokens": generated.prompt_tokens, "tokens": generated.tokens}
        self._stages.append(stage | {"finish": generated.finish, "language": language, "said": generated.text})
        return generated

    def _checked(self, sources: Sequence[Source], said: str, language: str | None) -> Checked:
        begun = time.perf_counter()
        readings = [Reading(s.number, f"{s.title}\n{s.text}", s.language) for s in sources]
        checked = citations.check(prompt.without_fences(said), self._params.question, readings, Analyzer(language))
        self._stages.append(
            {
                "stage": "citations",
                "ran": True,
                "ms": milliseconds_since(begun),
                "kept": checked.kept,
                "dropped": checked.dropped,
                "added": checked.added,
            }
        )
        return checked

    async def _result(
        self, sources: Sequence[Source], generated: Generated | None, checked: Checked | None
    ) -> AskResult:
        cited = checked.citations if checked else []
        collections = self._params.collections
        freshness = await self._served.read(lambda c: self._served.freshness(c, collections, embedded=True))
        return AskResult(
            question=self._params.question,
            answer=checked.text if checked else NOT_ENOUGH,
            answered=bool(checked and checked.answered),
            reason=checked.reason if checked else "no_sources",
            sources=[_shown(source, cited=source.number in cited) for source in sources],
            citations=cited,
            model=self._generator.uri,
            finish=generated.finish if generated else None,
            prompt_tokens=generated.prompt_tokens if generated else 0,
            tokens=generated.tokens if generated else 0,
            took_ms=milliseconds_since(self._started),
            freshness=freshness,
            explain={"stages": self._stages} if self._params.explain else None,
        )


def _generator(served: Index, collections: Sequence[str]) -> Generator:
    """Return the model that answers. Raises ModelNotConfigured, ModelNotPulled."""
    generator = served.querying.generator(collections)
    if generator is None:
        raise ModelNotConfigured(
            "no model answers questions, because index.yml says `answer: none`: take that out,"
            " or choose a preset with `gnoctl models use`",
            {"role": "answer"},
        )
    return generator


def _shown(source: Source, *, cited: bool = False) -> AnswerSource:
    return AnswerSource(**source._asdict(), cited=cited)
