"""Run both retrievers for a query, and turn their results into evidence for the fusion.

Runs on one connection, in one snapshot. Must not depend on models, reranking or the wire types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from typing import NamedTuple

from gnod.errors import QuerySyntaxError
from gnod.models.readability import Unrelated, script_of
from gnod.search.hybrid.budget import ReadabilityOf
from gnod.search.keyword import lexical
from gnod.search.keyword.expression import Expression
from gnod.search.keyword.lexical import LexicalSurvey
from gnod.search.meaning import vector_search
from gnod.search.meaning.vector_search import Nearest, QueryVectors, SurveyedVectors
from gnod.search.query.parsing import QueryLine
from gnod.search.ranking import fusion
from gnod.search.ranking.fusion import Facts, Fusion, Reader, RetrieverResults, Trust, is_loose
from gnod.search.ranking.ranked import RankedDocument, representatives
from gnod.store.connection import Connection
from gnod.store.tables import documents, learned_factors
from gnod.store.tables.filters import Filters
from gnod.types import FusionMethod

# Each retriever returns this many candidates for any limit, so neither the scores nor the end of the list depend on the
# limit.
POOL = 100
# Documents below this rank are given the mean of their keyword scores.
LEXICAL_DEPTH = 2000

Surveys = Sequence[tuple[QueryLine, LexicalSurvey]]
Meanings = Sequence[tuple[QueryLine, SurveyedVectors]]


class Retrieved(NamedTuple):
    """`documents`: the candidates. `trust`, `named`: as in `fusion.fuse`. `near`: each document with its best part by
    vector, which may not be looked up yet (`candidates.placed`). `bm25`, `similarity`: of the original query, unscaled.
    `loose`: documents that are only loosely similar to the query."""

    evidence: list[RetrieverResults]
    documents: dict[int, Facts]
    trust: dict[int, Trust]
    near: dict[int, RankedDocument]
    bm25: dict[int, float]
    similarity: dict[int, float]
    named: Mapping[int, float]
    loose: set[int]

    def described(self, fused: RankedDocument, rank: int) -> RankedDocument:
        """Add to a document of the fusion its best part by vector, and all components of its score."""
        known = {"bm25": self.bm25, "similarity": self.similarity}
        raw = {name: values[fused.id] for name, values in known.items() if fused.id in values}
        components = {**raw, **fused.components, "fused": fused.score, "fused_rank": float(rank)}
        near = self.near.get(fused.id)
        return fused._replace(
            span=near and near.span, components=components, unplaced=near.unplaced if near else fused.unplaced
        )


def survey_words(
    connection: Connection, lines: Sequence[QueryLine], filters: Filters
) -> list[tuple[QueryLine, LexicalSurvey]]:
    """Return the keyword scores of each `lex` line. Raises QuerySyntaxError for an original line without search words;
    leaves out variants without them."""
    found = []
    for line in lines:
        if line.is_lexical:
            try:
                found.append((line, lexical.survey(connection, line.clauses, filters, depth=LEXICAL_DEPTH)))
            except QuerySyntaxError:
                if line.is_original:
                    raise
    return found


def retrieve(
    connection: Connection,
    nearest: Nearest,
    words: Surveys,
    vector_lines: Sequence[QueryLine],
    vectors: QueryVectors | None,
    filters: Filters,
    *,
    language: str | None = None,
    readability: ReadabilityOf = lambda _: None,
) -> Retrieved:
    """Return the evidence of all lines. `vector_lines`: in the order of the rows of `vectors`. `vectors`: None without
    vector search. `language`: of the query; None: unknown."""
    meanings = survey_meanings(connection, nearest, words, vector_lines, vectors, filters)
    return gather(connection, words, meanings, vectors, language, readability)


def survey_meanings(
    connection: Connection,
    nearest: Nearest,
    words: Surveys,
    vector_lines: Sequence[QueryLine],
    vectors: QueryVectors | None,
    filters: Filters,
) -> Meanings:
    """Return the vector results of each line. An original line also has the similarities of documents that keywords
    found."""
    if vectors is None:
        return []
    first = first_by_words(words)
    return [
        (line, vector_search.survey(connection, nearest, vectors, number, filters, limit=POOL, also=also))
        for number, line in enumerate(vector_lines)
        for also in [first if line.is_original else set[int]()]
    ]


def gather(
    connection: Connection,
    words: Surveys,
    meanings: Meanings,
    vectors: QueryVectors | None,
    language: str | None,
    readability: ReadabilityOf,
) -> Retrieved:
    """Return the evidence from the results of both retrievers, including those of joined indexes."""
    near: dict[int, RankedDocument] = {}
    words, meanings = _one_of_each(connection, words, meanings)
    first = first_by_words(words)
    for _, found in meanings:
        for each in found.ranked:
            if each.id not in near or near[each.id].score < each.score:
                near[each.id] = each
    tops = first | {id_ for _, survey in words for id_ in islice(survey.scores, POOL)}
    allowed = _allowed(connection, words, near.keys() | tops)
    originals = {each.id for line, found in meanings if line.is_original for each in found.ranked} | first
    facts = facts_of(connection, near.keys() | tops)
    coverage = max((survey.coverage for line, survey in words if line.is_original), default=1.0)
    reader = _reader_of(vectors, readability)
    trusted = fusion.trusted(facts, language, coverage, reader, learned_factors.odds(connection))
    readable = allowed - {id_ for id_, each in trusted.items() if not each.vector}
    evidence = [_lexical(line, survey, originals, allowed) for line, survey in words]
    evidence += [_vector(line, found, readable) for line, found in meanings]
    return Retrieved(
        evidence,
        facts,
        trusted,
        {id_: each for id_, each in near.items() if id_ in readable},
        bm25=next((survey.scores for line, survey in words if line.is_original), {}),
        similarity=next(({each.id: each.score for each in found.ranked} for _, found in meanings), {}),
        named=_named(words),
        loose=_loose(connection, words, meanings, facts, vectors, readability),
    )


def _reader_of(vectors: QueryVectors | None, readability: ReadabilityOf) -> Reader:
    """Return a function for what the model that serves a collection can read."""
    served = vectors.served if vectors else {}
    return lambda collection: readability(served[collection]) if collection in served else None


def facts_of(connection: Connection, ids: Collection[int]) -> dict[int, Facts]:
    return {
        id_: Facts(docid, collection, language, script_of(sample) if sample else None)
        for id_, (docid, collection, language, sample) in documents.facts(connection, ids).items()
    }


def loose_documents(
    connection: Connection,
    queries: Sequence[Expression],
    meanings: Mapping[int, SurveyedVectors],
    facts: Mapping[int, Facts],
    vectors: QueryVectors,
    readability: ReadabilityOf,
) -> set[int]:
    """Return the documents in `facts` that are only loosely similar to all the queries. Leaves out collections whose
    model was not measured. `meanings`: by the row of the vectors."""
    reader = _reader_of(vectors, readability)
    measured = {name: known for name in {each.collection for each in facts.values()} if (known := reader(name))}
    ids = [id_ for id_, each in facts.items() if each.collection in measured]
    shares = [lexical.shares(connection, wanted, ids) for wanted in queries]
    similarities = {number: {each.id: each.score for each in found.ranked} for number, found in meanings.items()}

    @cache
    def unrelated(number: int, collection: str, language: str | None) -> Unrelated | None:
        """Return how near unrelated texts in a language are; None: unknown."""
        model = vectors.served[collection]
        found = measured[collection].unrelated(vectors.rows[model][number], language)
        spread = meanings[number].spreads.get(model)
        return found.within(spread.mean, spread.documents) if found and spread else found

    def nearness(id_: int) -> float | None:
        _, collection, language, _ = facts[id_]
        cosines = [(number, 2 * found[id_] - 1) for number, found in similarities.items() if id_ in found]
        scales = [(scale, cosine) for n, cosine in cosines if (scale := unrelated(n, collection, language))]
        return max((scale.nearness(cosine) for scale, cosine in scales), default=None)

    return {id_ for id_ in ids if is_loose(max((share[id_] for share in shares), default=0.0), nearness(id_))}


def fuse(found: Retrieved, method: FusionMethod, first: int, *, loose: bool = True) -> Fusion:
    """Return one ranking; ties by docid. The first `first` documents have their best part by vector and all components
    of their score. `loose`: keep documents that are only loosely similar."""
    facts = found.documents

    def order(id_: int) -> tuple[str, int]:
        return (facts[id_].docid if id_ in facts else "", id_)

    fused = fusion.fuse(method, found.evidence, order, found.trust, found.named)
    ranked = [each._replace(is_loose=each.id in found.loose) for each in fused.ranked]
    kept = ranked if loose else [each for each in ranked if not each.is_loose]
    described = [found.described(each, rank) for rank, each in enumerate(kept[:first], 1)]
    return fused._replace(ranked=[*described, *kept[first:]], loose=sum(each.is_loose for each in ranked))


def explained(found: Retrieved, fused: Fusion) -> dict[str, object]:
    """Return the explanation of a fusion: the weight of the vectors, and the groups of documents for which one
    retriever counts less or more."""
    shares = fused.vector_shares or {}
    counts = Counter((found.documents[id_][1:3], trusted) for id_, trusted in found.trust.items())
    groups = [
        {
            "collection": collection,
            "language": language,
            "documents": count,
            "vector_share": round(shares.get(trusted, 0.0), 3),
            **({"prior": trusted.vector} if trusted.vector not in (0.0, 1.0) else {}),
            **({"unread": True} if not trusted.vector else {}),
        }
        for ((collection, language), trusted), count in counts.most_common()
    ]
    return {
        **({} if fused.vector_share is None else {"vector_share": round(fused.vector_share, 3)}),
        **({"least": round(fused.least, 3)} if fused.least else {}),
        **({"groups": groups} if groups else {}),
    }


def first_by_words(words: Surveys) -> set[int]:
    """Return the documents that keywords of the original query find, and those that it names."""
    found = {id_ for line, survey in words if line.is_original for id_ in islice(survey.scores, POOL)}
    return found | _named(words).keys()


def _named(words: Surveys) -> dict[int, float]:
    return {id_: says for line, survey in words if line.is_original for id_, says in survey.named.items()}


def _one_of_each(connection: Connection, words: Surveys, meanings: Meanings) -> tuple[Surveys, Meanings]:
    """Use the same copy of a document in all rankings."""
    ids = chain.from_iterable(
        (*(survey.scores for _, survey in words), *([each.id for each in found.ranked] for _, found in meanings))
    )
    shown = representatives(connection, ids)
    if not shown:
        return words, meanings
    return (
        [(line, survey._replace(scores=_renamed_scores(survey.scores, shown))) for line, survey in words],
        [(line, found._replace(ranked=_renamed(found.ranked, shown))) for line, found in meanings],
    )


def _loose(
    connection: Connection,
    words: Surveys,
    meanings: Meanings,
    facts: Mapping[int, Facts],
    vectors: QueryVectors | None,
    readability: ReadabilityOf,
) -> set[int]:
    """Return the documents that are only loosely similar; none without vector search."""
    queries = [survey.expression for line, survey in words if line.is_original]
    meant = {number: found for number, (line, found) in enumerate(meanings) if line.is_original}
    return loose_documents(connection, queries, meant, facts, vectors, readability) if vectors and meant else set()


def _renamed_scores(scores: Mapping[int, float], shown: Mapping[int, tuple[int, bool]]) -> dict[int, float]:
    renamed: dict[int, float] = {}
    for id_, score in scores.items():
        renamed.setdefault(shown.get(id_, (id_, True))[0], score)
    return renamed


def _renamed(ranked: Sequence[RankedDocument], shown: Mapping[int, tuple[int, bool]]) -> list[RankedDocument]:
    """Replace copies by the shown document. It keeps the span only if the text is the same."""
    renamed: dict[int, RankedDocument] = {}
    for each in ranked:
        id_, has_same_text = shown.get(each.id, (each.id, True))
        same = each if has_same_text else each._replace(span=None, unplaced=())
        before = renamed.setdefault(id_, same._replace(id=id_))
        if before.score < each.score:
            renamed[id_] = same._replace(id=id_)
    return sorted(renamed.values(), key=lambda each: -each.score)


def _allowed(connection: Connection, words: Surveys, ids: set[int]) -> set[int]:
    """Return the documents that the user's phrases and exclusions allow. These apply to vector search too."""
    for line, survey in words:
        if line.is_original:
            ids = lexical.allowed(connection, survey.expression, ids)
    return ids


def _lexical(line: QueryLine, survey: LexicalSurvey, originals: set[int], allowed: set[int]) -> RetrieverResults:
    """Return keyword scores. For an original line, include documents that vector search found."""
    found = {id_: score for id_, score in islice(survey.scores.items(), POOL) if id_ in allowed}
    if not line.is_original or not found:
        return RetrieverResults("lexical", line.weight, found, len(found))
    others = ((survey.scores.get(id_, survey.beyond), id_) for id_ in originals & allowed - found.keys())
    asked = sorted(others, key=lambda pair: (-pair[0], pair[1]))
    scores = found | {id_: score for score, id_ in asked}
    return RetrieverResults("lexical", line.weight, scores, len(found), survey.prominence)


def _vector(line: QueryLine, found: SurveyedVectors, allowed: set[int]) -> RetrieverResults:
    scores = {each.id: each.score for each in found.ranked if each.id in allowed}
    prominence = found.prominence if line.is_original else None
    return RetrieverResults("vector", line.weight, scores, min(POOL, len(scores)), prominence)
