"""Ask for quotes and evidence as the daemon does, without a limit to the time."""

from __future__ import annotations

from collections.abc import Sequence

from gnod.answers import evidence, quoting
from gnod.answers.evidence import NO_EVIDENCE, EvidenceList
from gnod.answers.quotes import DOCUMENTS
from gnod.answers.quoting import NOTHING_QUOTED, Quoted, QuoteDependencies
from gnod.answers.sources import NONSENSE, Floats
from gnod.errors import QuerySyntaxError
from gnod.evaluate.index import COLLECTION, Index
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.modes import UNBOUNDED_S
from gnod.evaluate.searching import MeasuredModels
from gnod.models.profiles import EmbeddingText
from gnod.search.hybrid import stages
from gnod.search.hybrid.budget import ThroughputEstimate
from gnod.search.hybrid.stages import HybridSettings
from gnod.search.query.parsing import parse_question
from gnod.store.tables.filters import Filters
from gnod.types import UnavailableModel

_GATHERED = HybridSettings(limit=evidence.DOCUMENTS, budget_s=UNBOUNDED_S)
_NO_RERANKER = UnavailableModel("no model was given")


class Quoter:
    """Asks questions over one index."""

    def __init__(self, index: Index, models: EvaluationModels) -> None:
        self._models = models
        self._search = MeasuredModels(index.database, models).search_dependencies()
        self._options = HybridSettings(limit=DOCUMENTS, expand=False, rerank=False, budget_s=UNBOUNDED_S)
        nonsense = {models.uri: models.run(models.embedder.texts(NONSENSE))}
        reranker = models.reranker or _NO_RERANKER
        self._quote = QuoteDependencies(index.database.read, self._embed, nonsense, reranker, ThroughputEstimate())

    def ask(self, question: str, excluded: frozenset[int] = frozenset()) -> Quoted:
        """Return the quotes. `excluded`: ids of documents that are left out, as if they were not in the collection;
        only the statistics of the index (how many documents have a word) still include them."""
        return self._models.run(self._quotes(question, excluded))

    def gather(self, question: str, max_tokens: int) -> EvidenceList:
        """Return the packet of evidence within `max_tokens`."""
        return self._models.run(self._gather(question, max_tokens))

    async def _gather(self, question: str, max_tokens: int) -> EvidenceList:
        try:
            query = parse_question(question)
        except QuerySyntaxError:
            return NO_EVIDENCE
        found = await stages.search(self._search, query, Filters(collections=(COLLECTION,)), _GATHERED)
        return await evidence.gather(self._quote, question, found, max_tokens=max_tokens, limit_s=UNBOUNDED_S)

    async def _quotes(self, question: str, excluded: frozenset[int]) -> Quoted:
        try:
            query = parse_question(question)
        except QuerySyntaxError:
            return NOTHING_QUOTED
        filters = Filters(collections=(COLLECTION,), excluded=excluded)
        found = await stages.search(self._search, query, filters, self._options)
        return await quoting.quote(self._quote, question, found, limit_s=UNBOUNDED_S)

    async def _embed(self, uri: str, sentences: Sequence[EmbeddingText]) -> Floats:
        assert uri == self._models.uri
        return await self._models.embedder.sentences(sentences)
