"""The constants of search and their meaning, for docs/search-constants.md. Their values are read from the code."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import NamedTuple


class Constant(NamedTuple):
    """`where`: the module below `gnod` and the name, as `search.ranking.fusion:NAME_BONUS`."""

    where: str
    what: str

    def row(self) -> list[str]:
        module, _, name = self.where.partition(":")
        value = getattr(importlib.import_module(f"gnod.{module}"), name)
        return [self.what, _value(value), f"`{name}` in `gnod/{module.replace('.', '/')}.py`"]


def _value(value: object) -> str:
    """Return a value as people write it.

    >>> _value(2000), _value(1 / 3), _value({"words": 1.5}), _value((1.5, 3.0))
    ('2,000', '0.333', 'words: 1.5', '1.5; 3')
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_value(each)}" for key, each in value.items())
    if isinstance(value, tuple):
        return "; ".join(f"({_value(each)})" if isinstance(each, tuple) else _value(each) for each in value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


SECTIONS: Mapping[str, tuple[Constant, ...]] = {
    "Texts": (
        Constant("analysis.terms:VERSION", "version of the terms; a new one rebuilds the index"),
        Constant("analysis.terms:MAX_TERM_CHARACTERS", "longest term, in characters; longer ones are cut"),
        Constant("ingest.text.chunking:MAX_CHARACTERS", "longest chunk, in characters"),
        Constant("ingest.text.chunking:OVERLAP", "characters that a chunk shares with the one before it"),
        Constant("models.embedding_profiles:FEW_SENTENCES", "longest piece for small models, in characters"),
    ),
    "Keyword search": (
        Constant("bm25:COLUMN_WEIGHTS", "weights of path, title and body"),
        Constant("bm25:COVERED_TITLE", "weight of a title that consists of words of the query"),
        Constant(
            "store.keyword_index.postings.view:OTHER_LANGUAGE", "weight of a stem in documents of other languages"
        ),
        Constant(
            "search.keyword.lexical:ALL_WORDS_BONUS", "bonus of a document with every word, as a share of its score"
        ),
        Constant("search.query.parsing:PROSE_WORDS", "words outside quotation marks that make a query a sentence"),
        Constant("search.keyword.expression:MAX_WORDS", "words of a query that are searched"),
        Constant("search.keyword.expression:_MIN_PREFIX", "letters that the last word needs for prefix search"),
        Constant("search.keyword.lexical:_MAX_PREFIX_MATCHES", "most documents that a prefix may match"),
        Constant("search.keyword.lexical:_MIN_DEPTH", "documents that are ranked at least"),
        Constant("search.keyword.lexical:_WINDOWED", "best documents whose windows are compared"),
        Constant("search.keyword.windows:LONG", "terms from which a document counts as long"),
        Constant("search.keyword.windows:WINDOW", "terms of a window"),
        Constant("search.keyword.windows:SHARE", "share of the window's score in that of a long document"),
        Constant(
            "search.keyword.windows:NEGLIGIBLE", "terms below this share of the heaviest weight do not count in windows"
        ),
        Constant("store.keyword_index.fulltext:_LARGE", "documents from which negligible terms are not read"),
        Constant(
            "store.keyword_index.fulltext:_NEGLIGIBLE",
            "terms below this share of the rarest term's weight are negligible",
        ),
    ),
    "Corrections": (
        Constant("search.correction.correctable_words:MIN_LETTERS", "letters of a word that is corrected"),
        Constant(
            "search.correction.correctable_words:SHORT",
            "letters of a word that may lack one, if documents have the other words",
        ),
        Constant("search.correction.query_correction:TWO_EDITS", "letters of a word that may have two errors"),
        Constant("search.correction.query_correction:MAX_CORRECTIONS", "words of a query that are corrected"),
        Constant("search.correction.query_correction:COST", "value of a cost of 1, as a logarithm of documents"),
        Constant("search.correction.query_correction:JOINED", "cost of a missing space"),
        Constant("search.correction.query_correction:TWICE", "cost of two errors"),
        Constant("search.correction.query_correction:UNSEEN", "added cost of a word that the sampled texts lack"),
        Constant("search.correction.edits:SWAPPED", "cost of swapped letters"),
        Constant("search.correction.edits:DOUBLED", "cost of a letter that is wrongly doubled or not doubled"),
        Constant("search.correction.edits:NEIGHBOUR", "cost of a neighbouring key"),
        Constant("search.correction.edits:LOOKALIKE", "cost of an error of text recognition"),
        Constant("search.correction.edits:ACCENT", "cost of an accent"),
        Constant("search.correction.edits:MISSING", "cost of another missing letter"),
        Constant("search.correction.edits:ADDED", "cost of another added letter"),
        Constant("search.correction.edits:REPLACED", "cost of any letter instead of another"),
        Constant("search.correction.edits:AT_START", "added cost for the first letter"),
        Constant("search.correction.correctable_words:RARE", "documents in which a rare word may be an error"),
        Constant("search.correction.correctable_words:TIMES", "how many times more frequent its correction must be"),
        Constant("search.correction.known_words:SAMPLE_CHARACTERS", "characters of the sample of the texts"),
        Constant("search.correction.known_words:MAX_WORDS", "words in memory"),
        Constant(
            "search.correction.known_words:MAX_ALTERNATIVES", "words that a wildcard, or a part of a word, stands for"
        ),
        Constant("search.correction.correction_service:MAX_WILDCARDS", "wildcards of a query"),
        Constant("search.query.parsing:MIN_WILDCARD", "letters of a wildcard's part"),
    ),
    "Vector search": (
        Constant(
            "search.meaning.vector_search:EXACT_BYTES",
            "bytes of a model's vectors up to which they are float32, above it int8",
        ),
        Constant("search.meaning.vector_search:_HYSTERESIS", "factor beyond this limit at which the kind changes"),
        Constant(
            "search.meaning.vector_search:LIMIT_BYTES", "bytes of all vectors in memory; others are read from disk"
        ),
        Constant(
            "search.meaning.vector_search:COMPARED_ROWS",
            "int8 vectors of a model that are all compared; of more, the signs come first",
        ),
        Constant("search.meaning.presorted_vectors:_LEAST", "vectors that are compared first, at least"),
        Constant("search.meaning.presorted_vectors:_PER_DOCUMENT", "the same, for each requested document"),
        Constant(
            "search.meaning.presorted_vectors:_JUDGED", "nearest vectors so far that decide how many more are compared"
        ),
        Constant(
            "search.meaning.presorted_vectors:_SIGMAS",
            "standard deviations of differing signs within which more are compared",
        ),
        Constant("search.meaning.presorted_vectors:_MANY", "share of the vectors above which all are compared"),
        Constant(
            "search.meaning.presorted_vectors:_FEW", "vectors that pass a filter up to which all of them are compared"
        ),
        Constant(
            "search.meaning.presorted_vectors:_SAMPLE", "documents from which the spread of very many is estimated"
        ),
        Constant(
            "search.meaning.presorted_vectors:_TRIED", "random documents that estimate the share that passes a filter"
        ),
        Constant(
            "search.meaning.vector_matrix:_ROUNDING_SIGMAS",
            "standard deviations of the rounding error that int8 cosines allow for",
        ),
        Constant("search.meaning.vector_matrix:FLOAT_NOISE", "error of float32 sums"),
        Constant("search.meaning.candidate_documents:_MIN_DEPTH", "documents that are examined first"),
        Constant("search.meaning.candidate_documents:_DEEPER", "factor by which the search goes deeper at most"),
        Constant("search.meaning.candidate_documents:_MAX_DEPTH", "greatest depth for ties within the error of int8"),
        Constant(
            "search.meaning.candidate_documents:_SETTLED",
            "margins of error below the last document needed within which vectors are read",
        ),
        Constant(
            "search.meaning.candidate_documents:_KNOWN_SHARE",
            "share of the documents below which collections are searched alone",
        ),
        Constant(
            "search.meaning.candidate_documents:_COST",
            "cost of one more document, relative to querying one that passes a filter",
        ),
    ),
    "Hybrid search": (
        Constant("search.hybrid.stages:BUDGET_S", "seconds for all stages that need a model (`budget_s`)"),
        Constant("search.hybrid.budget:MARGIN_S", "seconds of the budget that stay for the other stages"),
        Constant("search.query.parsing:MAX_LINES", "lines of a structured query"),
        Constant("search.query.parsing:MAX_CHARACTERS", "characters of a structured query"),
        Constant("search.hybrid.retrieval:POOL", "candidates of each list"),
        Constant(
            "search.hybrid.retrieval:LEXICAL_DEPTH",
            "documents with an exact keyword score; others get the mean of the rest",
        ),
        Constant("bm25:FUSED_COLUMN_WEIGHTS", "weights of path, title and body"),
        Constant(
            "store.keyword_index.fulltext:_FUSED_NEGLIGIBLE",
            "share of the rarest term's weight below which terms are negligible",
        ),
        Constant("store.keyword_index.fulltext:_WALK", "matches after which common terms are not read"),
    ),
    "Fusion": (
        Constant("search.query.parsing:ORIGINAL", "weight of a list of the query itself"),
        Constant("search.query.parsing:VARIANT", "weight of a list of a variant"),
        Constant("search.query.parsing:HYDE", "weight of a list of a made-up passage (HyDE)"),
        Constant(
            "search.ranking.fusion:NAME_BONUS", "bonus of a document that the query names, as a share of the best score"
        ),
        Constant("search.keyword.lexical:MOST_NAMED", "named documents that become candidates"),
        Constant("search.ranking.fusion:NEAR", "nearness from which on a document is not loosely similar"),
        Constant("search.ranking.fusion:WORDS", "nearness that all words of the query count as"),
        Constant("search.ranking.fusion:FEW_WORDS", "share of the words that is enough without a nearness"),
        Constant("search.ranking.fusion:UNRELATED", "similarity of texts that have nothing in common"),
        Constant("search.ranking.fusion:_RRF_K", "k of `rrf`"),
        Constant("search.ranking.fusion:_RRF_BONUS", "bonus of the first three documents, `rrf` only"),
    ),
    "Trust": (
        Constant("models.readability:READS", "share of pairs that a model must tell apart to read a language"),
        Constant("search.ranking.fusion:READ_EXPONENT", "exponent of the coverage if the model reads both languages"),
        Constant("search.ranking.fusion:UNREAD_EXPONENT", "the same if it does not"),
        Constant("tuning.choice:FACTORS", "factors that a collection tries besides 1"),
        Constant("tuning.choice:MIN_QUESTIONS", "questions without which nothing is learned"),
        Constant("tuning.choice:_CONFIDENCE", "confidence of the test that a factor helps"),
        Constant("tuning.experiment:MAX_DOCUMENTS", "documents that represent a larger collection"),
        Constant("tuning.experiment:MAX_QUESTIONS", "questions"),
        Constant("background.tuning:IDLE_S", "seconds without embedding before the daemon learns by itself"),
        Constant("background.tuning:MIN_DOCUMENTS", "documents from which a collection learns by itself"),
    ),
    "Expansion": (
        Constant(
            "search.hybrid.expanding:STRONG_CENTRE", "centre of the sigmoid over BM25 scores that finds a clear winner"
        ),
        Constant("search.hybrid.expanding:STRONG_WIDTH", "width of the sigmoid"),
        Constant("search.hybrid.expanding:STRONG_TOP", "least value of a clear winner"),
        Constant("search.hybrid.expanding:STRONG_GAP", "least distance to the second document"),
        Constant("search.hybrid.expanding:STRONG_RANKS", "documents that are compared"),
        Constant("search.hybrid.stages:RERANK_SHARE", "share of the budget that stays for the reranker"),
        Constant(
            "search.expansion.expander:UNFINISHED_LIMIT_S",
            "seconds for which an expansion continues after its query, for the cache",
        ),
        Constant("search.expansion.prompts:MAX_QUERY_CHARACTERS", "characters of the query that the model reads"),
        Constant("search.expansion.prompts:MAX_TOKENS", "tokens that the model writes"),
        Constant("search.hybrid.budget:_MAX_SKIPPED", "most queries for which a model that timed out is not called"),
        Constant(
            "search.hybrid.budget:_PLAINLY_MORE",
            "factor over the time of the timeout with which gnod calls it anyway",
        ),
    ),
    "Reranking": (
        Constant("search.hybrid.reranking:CANDIDATES", "documents that are read (`candidates`)"),
        Constant("search.hybrid.reranking:SHARES", "share of the fused score up to a rank: rank; share"),
        Constant("search.hybrid.reranking:SHARE_BELOW", "share of the fused score at later ranks"),
        Constant("search.hybrid.reranking:FLOOR", "least score of a text with all words of the query"),
        Constant("models.run.llama.ranking:MAX_WINDOW", "tokens of query and document together"),
        Constant("models.run.roles:_CHARACTERS_PER_TOKEN", "characters that count as a token"),
        Constant("models.run.engines:_MEASURED_S", "seconds of reading that measure the speed"),
        Constant("search.hybrid.budget:_LEARNING_RATE", "weight of the latest measurement"),
        Constant("search.hybrid.budget:_PLANNED", "share of the time that is planned"),
        Constant("search.hybrid.budget:_RECOVERY", "growth of the estimate after a query without time for reading"),
        Constant("search.hybrid.budget:MIN_CHARACTERS", "characters of a document that are worth reading"),
        Constant("search.hybrid.budget:MIN_DOCUMENTS", "documents that are worth reranking"),
        Constant("search.hybrid.budget:FRAME_CHARACTERS", "characters that the model's template adds to a document"),
    ),
    "Passages": (
        Constant("search.keyword.marks:WINDOW_CHARACTERS", "characters of the window with the query's words"),
        Constant("search.passages.snippets:SNIPPET_CHARACTERS", "characters of a passage"),
        Constant("search.passages.snippets:SNIPPET_LINES", "lines of a passage"),
        Constant("search.passages.best_passage:FURTHER", "share of the best passage's value that a further one needs"),
    ),
    "Related documents": (
        Constant("search.related.related_documents:_SPARE", "candidates of each kind beyond those requested"),
    ),
    "Quotes": (
        Constant("answers.quotes:WEIGHTS", "weights of the parts of a score"),
        Constant("answers.quotes:MAX_QUOTES", "quotes"),
        Constant("answers.quotes:DOCUMENTS", "documents that are read"),
        Constant("answers.quotes:PRESELECTED", "sentences that are embedded"),
        Constant("answers.quotes:_OF_ONE_DOCUMENT", "of these, sentences of one document while there are others"),
        Constant("answers.quotes:_BEFORE", "value of a word in the sentence before"),
        Constant("answers.quotes:_ABOVE", "value of a word in title, headings or table header"),
        Constant("answers.quotes:_EARLIER", "value of a word earlier in the paragraph"),
        Constant("answers.quotes:_LETTERS", "letters of the sequences by which forms of a word are compared"),
        Constant("answers.words:PAIR", "value of a pair of characters in a script without spaces, in words"),
        Constant("answers.quotes:_WORTHWHILE", "share of the first quote's score that a further one needs"),
        Constant("answers.quotes:_LONG", "characters from which only parts of a document are read"),
        Constant("answers.quotes:_REACH", "characters that are read on both sides of a place"),
        Constant("answers.quotes:_PLACES", "best places by vector that are read"),
        Constant("search.passages.sentences:MAX_CHARACTERS", "characters of a sentence; longer ones are cut"),
        Constant(
            "search.passages.sentences:_WHOLE_ITEM", "characters of a list item; longer ones are cut into sentences"
        ),
        Constant("answers.quoting:LIMIT_S", "seconds for the models"),
    ),
    "Confidence": (
        Constant("answers.confidence:THRESHOLD", "confidence from which a question counts as answered"),
        Constant("answers.confidence:CERTAIN", "confidence from which the evidence is said to contain the answer"),
        Constant("answers.confidence:ABSENT", "confidence below which the documents are said not to contain it"),
        Constant("answers.confidence:WEIGHTS", "weights of the components"),
        Constant("answers.confidence:BIAS", "added to their sum"),
        Constant("answers.confidence:_AMPLE", "weight of matched words above which more adds nothing"),
        Constant("answers.confidence:_CLEAR", "lead above which more adds nothing"),
        Constant("answers.confidence:_RERANKED", "share of a cross-encoder"),
    ),
    "Evidence": (
        Constant("answers.evidence:DOCUMENTS", "documents that are read"),
        Constant("answers.evidence:UNITS", "sentences that may become passages"),
        Constant("answers.evidence:LIMIT_S", "seconds for the sentences and the models"),
        Constant("answers.structure:MAX_TOKENS", "tokens of a passage; longer ones are cut"),
        Constant("answers.packet:COVERAGE", "bonus for all words of the question, as a share of the best score"),
        Constant("answers.packet:WORTHWHILE", "share of the first passage's value for a further one"),
        Constant("answers.packet:_RISE", "growth of this share until the budget is used up"),
        Constant("answers.packet:COPIED", "share of equal character sequences that makes a near-copy"),
    ),
    "Generated answers": (
        Constant("answers.query_models:MIN_PARAMETERS", "parameters of the smallest model that is called by itself"),
        Constant("answers.service:_MAX_SOURCE_TOKENS", "tokens of all sources"),
        Constant("answers.service:_MIN_SOURCE_TOKENS", "tokens that the sources get at least"),
        Constant("answers.prompt:TOKENS", "tokens of the rules"),
        Constant("answers.nearness:_DEVIATIONS", "standard deviations above nonsense that make a text near"),
        Constant("answers.service:LIMIT_S", "seconds for the answer"),
        Constant("models.run.repetition:REPEATS", "successive occurrences of a text that count as a repetition"),
        Constant("models.run.repetition:CHARACTERS", "characters of a repetition, at least"),
        Constant("answers.citations:_CITED_SHARE", "share of a sentence's words that a cited source must contain"),
        Constant("answers.citations:_FOUND_SHARE", "the same for a source that the model did not cite"),
    ),
}
