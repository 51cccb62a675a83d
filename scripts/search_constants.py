"""The constants of search, for docs/search-constants.md: what each means. Their values are read from the code."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import NamedTuple


class Constant(NamedTuple):
    """`where`: the module below `gnod` and the name, as `pipeline.fusion:NAME_BONUS`."""

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
        Constant("ingest.chunking:MAX_CHARACTERS", "longest chunk, in characters"),
        Constant("ingest.chunking:OVERLAP", "characters that a chunk shares with the one before it"),
        Constant("models.profiles:FEW_SENTENCES", "longest piece for small models, in characters"),
    ),
    "Keyword search": (
        Constant("store.documents.fulltext:WEIGHTS", "weights of path, title and body"),
        Constant("pipeline.lexical:ALL_WORDS_BONUS", "bonus of a document with every word, as a share of its score"),
        Constant("pipeline.query:PROSE_WORDS", "words outside quotation marks that make a query a sentence"),
        Constant("pipeline.expression:MAX_WORDS", "words of a query that are searched"),
        Constant("pipeline.expression:_MIN_PREFIX", "letters that the last word needs for prefix search"),
        Constant("pipeline.lexical:_MAX_PREFIX_MATCHES", "most documents that a prefix may match"),
        Constant("pipeline.lexical:_MIN_DEPTH", "documents that are ranked at least"),
        Constant("pipeline.lexical:_WINDOWED", "best documents whose windows are compared"),
        Constant("pipeline.windows:LONG", "terms from which on a document is long"),
        Constant("pipeline.windows:WINDOW", "terms of a window"),
        Constant("pipeline.windows:SHARE", "share of the window's score in that of a long document"),
        Constant(
            "pipeline.windows:NEGLIGIBLE", "terms below this share of the heaviest weight do not count in windows"
        ),
        Constant("store.documents.fulltext:_LARGE", "documents from which on negligible terms are not read"),
        Constant(
            "store.documents.fulltext:_NEGLIGIBLE", "terms below this share of the rarest term's weight are negligible"
        ),
        Constant("store.postings.view:MOST_CHANGED", "changed documents that are added to the postings"),
        Constant("store.postings.view:CHANGED_OF", "the same in a large index: one of this many documents"),
    ),
    "Corrections": (
        Constant("pipeline.correction.query_words:MIN_LETTERS", "letters of a word that is corrected"),
        Constant(
            "pipeline.correction.query_words:SHORT",
            "letters of a word that may lack one, if documents have the other words",
        ),
        Constant("pipeline.correction.correcting:TWO_EDITS", "letters of a word that may have two errors"),
        Constant("pipeline.correction.correcting:MAX_CORRECTIONS", "words of a query that are corrected"),
        Constant("pipeline.correction.correcting:COST", "what a cost of 1 is worth, as a logarithm of documents"),
        Constant("pipeline.correction.correcting:JOINED", "cost of a missing space"),
        Constant("pipeline.correction.correcting:TWICE", "cost of two errors"),
        Constant("pipeline.correction.correcting:UNSEEN", "added cost of a word that the sample of the texts lacks"),
        Constant("pipeline.correction.edits:SWAPPED", "cost of swapped letters"),
        Constant("pipeline.correction.edits:DOUBLED", "cost of a letter that is wrongly doubled or not doubled"),
        Constant("pipeline.correction.edits:NEIGHBOUR", "cost of a neighbouring key"),
        Constant("pipeline.correction.edits:LOOKALIKE", "cost of an error of text recognition"),
        Constant("pipeline.correction.edits:ACCENT", "cost of an accent"),
        Constant("pipeline.correction.edits:MISSING", "cost of another missing letter"),
        Constant("pipeline.correction.edits:ADDED", "cost of another added letter"),
        Constant("pipeline.correction.edits:REPLACED", "cost of any letter instead of another"),
        Constant("pipeline.correction.edits:AT_START", "added cost for the first letter"),
        Constant("pipeline.correction.occurrences:RARE", "documents in which a rare word may be an error"),
        Constant("pipeline.correction.occurrences:TIMES", "how many times more frequent its correction must be"),
        Constant("pipeline.correction.surfaces:SAMPLE_CHARACTERS", "characters of the sample of the texts"),
        Constant("pipeline.correction.words:MAX_WORDS", "words in memory"),
        Constant(
            "pipeline.correction.words:MAX_ALTERNATIVES", "words that a wildcard, or a part of a word, stands for"
        ),
        Constant("pipeline.correction.wildcards:MAX_WILDCARDS", "wildcards of a query"),
        Constant("pipeline.query:MIN_WILDCARD", "letters of a wildcard's part"),
    ),
    "Vector search": (
        Constant(
            "pipeline.nearest:EXACT_BYTES", "bytes of a model's vectors up to which they are float32, above it int8"
        ),
        Constant("pipeline.nearest:_HYSTERESIS", "factor beyond this limit at which the kind changes"),
        Constant("pipeline.nearest:LIMIT_BYTES", "bytes of all vectors in memory; others are read from disk"),
        Constant(
            "pipeline.nearest:COMPARED_ROWS",
            "int8 vectors of a model that are all compared; of more, the signs come first",
        ),
        Constant("pipeline.presorted:_LEAST", "vectors that are compared first, at least"),
        Constant("pipeline.presorted:_PER_DOCUMENT", "the same, for each document wanted"),
        Constant("pipeline.presorted:_JUDGED", "nearest vectors so far that decide how many more are compared"),
        Constant("pipeline.presorted:_SIGMAS", "standard deviations of differing signs within which more are compared"),
        Constant("pipeline.presorted:_MANY", "share of the vectors above which all are compared"),
        Constant("pipeline.presorted:_FEW", "vectors that pass a filter up to which all of them are compared"),
        Constant("pipeline.presorted:_SAMPLE", "documents from which the spread of very many is estimated"),
        Constant("pipeline.presorted:_TRIED", "random documents that tell which share passes a filter"),
        Constant(
            "pipeline.matrix:_ROUNDING_SIGMAS", "standard deviations of the rounding error that int8 cosines allow for"
        ),
        Constant("pipeline.matrix:FLOAT_NOISE", "error of float32 sums"),
        Constant("pipeline.candidates:_MIN_DEPTH", "documents that are looked at first"),
        Constant("pipeline.candidates:_DEEPER", "factor by which the search goes deeper at most"),
        Constant("pipeline.candidates:_MAX_DEPTH", "greatest depth for ties within the error of int8"),
        Constant(
            "pipeline.candidates:_SETTLED",
            "margins of error below the last document needed within which vectors are read",
        ),
        Constant(
            "pipeline.candidates:_KNOWN_SHARE", "share of the documents below which collections are searched alone"
        ),
        Constant(
            "pipeline.candidates:_COST", "cost of one more document, relative to querying one that passes a filter"
        ),
    ),
    "Hybrid search": (
        Constant("pipeline.hybrid:BUDGET_S", "seconds for all stages that need a model (`budget_s`)"),
        Constant("pipeline.budget:MARGIN_S", "seconds of the budget that stay for the other stages"),
        Constant("pipeline.query:MAX_LINES", "lines of a structured query"),
        Constant("pipeline.query:MAX_CHARACTERS", "characters of a structured query"),
        Constant("pipeline.retrieval:POOL", "candidates of each list"),
        Constant("pipeline.retrieval:LARGE_POOL", "the same for a limit that needs more documents"),
        Constant(
            "pipeline.retrieval:LEXICAL_DEPTH", "documents with an exact keyword score; others get the mean of the rest"
        ),
        Constant("store.documents.fulltext:FUSED_WEIGHTS", "weights of path, title and body"),
        Constant(
            "store.documents.fulltext:_FUSED_NEGLIGIBLE",
            "share of the rarest term's weight below which terms are negligible",
        ),
        Constant("store.documents.fulltext:_WALK", "matches after which common terms are not read"),
    ),
    "Fusion": (
        Constant("pipeline.query:ORIGINAL", "weight of a list of the query itself"),
        Constant("pipeline.query:VARIANT", "weight of a list of a variant"),
        Constant("pipeline.query:HYDE", "weight of a list of a made-up passage (HyDE)"),
        Constant(
            "pipeline.fusion:NAME_BONUS", "bonus of a document that the query names, as a share of the best score"
        ),
        Constant("pipeline.lexical:MOST_NAMED", "named documents that become candidates"),
        Constant("pipeline.fusion:UNRELATED", "similarity of texts that have nothing in common"),
        Constant("pipeline.fusion:_RRF_K", "k of `rrf`"),
        Constant("pipeline.fusion:_RRF_BONUS", "bonus of the first three documents, `rrf` only"),
    ),
    "Trust": (
        Constant("models.readability:READS", "share of pairs that a model must tell apart to read a language"),
        Constant("pipeline.trust:READ_EXPONENT", "exponent of the coverage if the model reads both languages"),
        Constant("pipeline.trust:UNREAD_EXPONENT", "the same if it does not"),
        Constant("tuning.choice:FACTORS", "factors that a collection tries besides 1"),
        Constant("tuning.choice:MIN_QUESTIONS", "questions without which nothing is learned"),
        Constant("tuning.choice:_CONFIDENCE", "confidence of the test that a factor helps"),
        Constant("tuning.experiment:MAX_DOCUMENTS", "documents that represent a larger collection"),
        Constant("tuning.experiment:MAX_QUESTIONS", "questions"),
        Constant("services.tuning:IDLE_S", "seconds without embedding before the daemon learns by itself"),
        Constant("services.tuning:MIN_DOCUMENTS", "documents from which on a collection learns by itself"),
    ),
    "Expansion": (
        Constant("pipeline.hybrid:STRONG_CENTRE", "centre of the sigmoid over BM25 scores that finds a clear winner"),
        Constant("pipeline.hybrid:STRONG_WIDTH", "width of the sigmoid"),
        Constant("pipeline.hybrid:STRONG_TOP", "least value of a clear winner"),
        Constant("pipeline.hybrid:STRONG_GAP", "least distance to the second document"),
        Constant("pipeline.hybrid:STRONG_RANKS", "documents that are compared"),
        Constant("pipeline.hybrid:RERANK_SHARE", "share of the budget that stays for the reranker"),
        Constant(
            "pipeline.expansion.expander:UNFINISHED_LIMIT_S",
            "seconds for which an expansion goes on after its query, for the cache",
        ),
        Constant("pipeline.expansion.prompts:MAX_QUERY_CHARACTERS", "characters of the query that the model reads"),
        Constant("pipeline.expansion.prompts:MAX_TOKENS", "tokens that the model writes"),
        Constant("pipeline.budget:_MAX_SKIPPED", "most queries for which a model that timed out is not asked"),
        Constant(
            "pipeline.budget:_PLAINLY_MORE",
            "how many times more time than at the timeout makes gnod ask it all the same",
        ),
    ),
    "Reranking": (
        Constant("pipeline.reranking:CANDIDATES", "documents that are read (`candidates`)"),
        Constant("pipeline.reranking:SHARES", "share of the fused score up to a rank: rank; share"),
        Constant("pipeline.reranking:SHARE_BELOW", "share of the fused score at later ranks"),
        Constant("pipeline.reranking:FLOOR", "least score of a text with all words of the query"),
        Constant("models.llama.ranking:MAX_WINDOW", "tokens of query and document together"),
        Constant("models.llama.ranking:MAX_WINDOW_ON_GPU", "the same on a graphics card"),
        Constant("models.reranker:_CHARACTERS_PER_TOKEN", "characters that count as a token"),
        Constant("models.llama.ranking:_MEASURED_S", "seconds of reading that measure the speed"),
        Constant("pipeline.budget:_LEARNING_RATE", "weight of the latest measurement"),
        Constant("pipeline.budget:_PLANNED", "share of the time that is planned"),
        Constant("pipeline.budget:_RECOVERY", "growth of the estimate after a query without time for reading"),
        Constant("pipeline.budget:MIN_CHARACTERS", "characters of a document that are worth reading"),
        Constant("pipeline.budget:MIN_DOCUMENTS", "documents that are worth reranking"),
        Constant("pipeline.budget:FRAME_CHARACTERS", "characters that the model's template adds to a document"),
    ),
    "Passages": (
        Constant("pipeline.marks:WINDOW_CHARACTERS", "characters of the window with the query's words"),
        Constant("pipeline.snippets:SNIPPET_CHARACTERS", "characters of a passage"),
        Constant("pipeline.snippets:SNIPPET_LINES", "lines of a passage"),
        Constant("pipeline.passages:FURTHER", "share of the best passage's value that a further one needs"),
        Constant("pipeline.anchors:_LONG", "terms from which on only the rarest word is looked for in the whole text"),
        Constant("pipeline.anchors:_WINDOW", "terms of the window in which that word is chosen"),
        Constant("pipeline.anchors:_MAX_PLACES", "most places of that word"),
    ),
    "Related documents": (
        Constant("pipeline.diversity:LAMBDA", "weight of relevance against repetition (maximal marginal relevance)"),
        Constant("pipeline.related:_SPARE", "candidates of each kind beyond those asked for"),
    ),
    "Quotes": (
        Constant("pipeline.answering.quotes:WEIGHTS", "weights of the parts of a score"),
        Constant("pipeline.answering.quotes:MAX_QUOTES", "quotes"),
        Constant("pipeline.answering.quotes:DOCUMENTS", "documents that are read"),
        Constant("pipeline.answering.quotes:PRESELECTED", "sentences that are embedded"),
        Constant(
            "pipeline.answering.quotes:_OF_ONE_DOCUMENT", "of these, sentences of one document while there are others"
        ),
        Constant("pipeline.answering.quotes:_BEFORE", "value of a word in the sentence before"),
        Constant("pipeline.answering.quotes:_ABOVE", "value of a word in title, headings or table header"),
        Constant("pipeline.answering.quotes:_EARLIER", "value of a word earlier in the paragraph"),
        Constant(
            "pipeline.answering.quotes:_LETTERS", "letters of the sequences by which forms of a word are compared"
        ),
        Constant(
            "pipeline.answering.quotes:_PAIR", "value of a pair of characters in a script without spaces, in words"
        ),
        Constant("pipeline.answering.quotes:_WORTHWHILE", "share of the first quote's score that a further one needs"),
        Constant("pipeline.answering.quotes:_LONG", "characters from which on only parts of a document are read"),
        Constant("pipeline.answering.quotes:_REACH", "characters that are read on both sides of a place"),
        Constant("pipeline.answering.quotes:_PLACES", "best places by vector that are read"),
        Constant("pipeline.answering.sentences:MAX_CHARACTERS", "characters of a sentence; longer ones are cut"),
        Constant(
            "pipeline.answering.sentences:_WHOLE_ITEM", "characters of a list item; longer ones are cut into sentences"
        ),
        Constant("pipeline.answering.quoting:LIMIT_S", "seconds for the models"),
    ),
    "Confidence": (
        Constant("pipeline.answering.confidence:THRESHOLD", "confidence from which on a question is answered"),
        Constant("pipeline.answering.confidence:WEIGHTS", "weights of the components"),
        Constant("pipeline.answering.confidence:BIAS", "added to their sum"),
        Constant("pipeline.answering.confidence:_AMPLE", "weight of matched words above which more adds nothing"),
        Constant("pipeline.answering.confidence:_CLEAR", "lead above which more adds nothing"),
        Constant("pipeline.answering.confidence:_RERANKED", "share of a cross-encoder"),
    ),
    "Evidence": (
        Constant("pipeline.answering.evidence:DOCUMENTS", "documents that are read"),
        Constant("pipeline.answering.evidence:UNITS", "sentences that may become passages"),
        Constant("pipeline.answering.evidence:LIMIT_S", "seconds for the sentences and the models"),
        Constant("pipeline.answering.structure:MAX_TOKENS", "tokens of a passage; longer ones are cut"),
        Constant(
            "pipeline.answering.packet:COVERAGE", "bonus for all words of the question, as a share of the best score"
        ),
        Constant("pipeline.answering.packet:WORTHWHILE", "share of the first passage's value that a further one needs"),
        Constant("pipeline.answering.packet:COPIED", "share of equal character sequences that makes a near-copy"),
    ),
    "Generated answers": (
        Constant(
            "pipeline.answering.verdict:MIN_PARAMETERS", "parameters of the smallest model that is called by itself"
        ),
        Constant("pipeline.answering.sources:MAX_SOURCES", "sources that the model reads"),
        Constant("pipeline.answering.sources:MAX_TOKENS", "tokens of all sources"),
        Constant("search.answers:_MIN_SOURCE_TOKENS", "tokens that the sources get at least"),
        Constant("pipeline.answering.prompt:TOKENS", "tokens of the rules"),
        Constant("pipeline.answering.sources:_BLOCK_CHARACTERS", "characters of a block"),
        Constant("pipeline.answering.sources:_PASSAGE_CHARACTERS", "characters of a source"),
        Constant("pipeline.answering.sources:_GAP", "characters between sources below which they become one"),
        Constant("pipeline.answering.sources:_ABOVE_WEIGHT", "weight of words in title and headings"),
        Constant("pipeline.answering.sources:_RANK_WEIGHT", "weight of the document's score in the search"),
        Constant("pipeline.answering.sources:_WORTHWHILE", "share of the best block's value that a block needs"),
        Constant(
            "pipeline.answering.sources:_DEVIATIONS", "standard deviations above nonsense that make a block relevant"
        ),
        Constant("search.answers:LIMIT_S", "seconds for the answer"),
        Constant("models.repetition:REPEATS", "times that a text stands in a row to be a repetition"),
        Constant("models.repetition:CHARACTERS", "characters of a repetition, at least"),
        Constant(
            "pipeline.answering.citations:_CITED_SHARE", "share of a sentence's words that a cited source must contain"
        ),
        Constant("pipeline.answering.citations:_FOUND_SHARE", "the same for a source that the model did not cite"),
    ),
}
