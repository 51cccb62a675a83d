"""Turn converted Markdown into a document for the store: canonical text, title, language, chunks, terms.

Pure: no files, no storage. It runs in the converter workers, so that it does not delay the daemon's replies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from gnod.analysis import languages
from gnod.ingest.code import source
from gnod.ingest.formats import Converted
from gnod.ingest.links import markdown as links_of_markdown
from gnod.ingest.links import properties
from gnod.ingest.links.extraction import extract
from gnod.ingest.packages import stem
from gnod.ingest.reading.result import CONVERSATION
from gnod.ingest.text import frontmatter, inline_fields, secret_masking
from gnod.ingest.text.canonical import canonicalise, digest, embed_hash, with_line_map
from gnod.ingest.text.chunking import ChunkText, cut
from gnod.ingest.text.document_terms import terms_of
from gnod.ingest.text.frontmatter import Frontmatter
from gnod.ingest.text.inline_fields import InlineFields
from gnod.ingest.text.metadata import each_once, tags, text, without_links
from gnod.ingest.text.outline import Markup, Outline, outline, plain, title_heading
from gnod.ingest.text.words import has_words
from gnod.locations import Locations
from gnod.store.documents.described import titles
from gnod.store.tables.records import Chunk, FileStat, PreparedDocument, Unread
from gnod.types import LineMap, canonical_line

MAX_TITLE_CHARACTERS = 300

_NOTES = "text/markdown"
_DATA_MIMES = {"text/csv", "text/tab-separated-values", "application/json", "application/yaml", "application/toml"}


def prepare(
    converted: Converted,
    *,
    relative_path: str,
    source_hash: str,
    stat: FileStat | None,
    language: str | None = None,
    title: str | None = None,
    mask_secrets: bool = True,
) -> PreparedDocument:
    """Return the document. `language` and `title` override the values of the text. `mask_secrets`: mask keys and
    passwords in conversations, where people and tools often show them by accident."""
    if mask_secrets and converted.mime == CONVERSATION:
        converted = _masked(converted)
    markdown, lost = with_line_map(converted.markdown)
    head = frontmatter.parse(markdown) if _is_prose(converted) else frontmatter.NONE
    structure = outline(markdown, converted.markup, head.body_start)
    code = source.read(markdown, converted.mime, relative_path)
    inline = _inline_fields(converted, markdown, head, structure)
    metadata = {**converted.metadata, **inline.properties, **head.metadata}
    metadata = {name: without_links(value) for name, value in metadata.items()}
    # Use the title from the text or the caller, without the file name, because documents with the same mirror share
    # chunks.
    own_title = title or text(metadata, "title") or _title_heading(converted, markdown, head.body_start, structure)
    title = _one_line(own_title or converted.title or stem(relative_path))
    prose = code.prose if code else markdown[head.body_start :] if _is_prose(converted) else ""
    if code:
        passages, mirror_hash = code.passages, digest(f"{code.identity}\0{markdown}")
    else:
        passages = cut(markdown, structure)
        mirror_hash = _mirror_hash(markdown, converted.markup, structure, head.body_start)
    language = _language(language, metadata, prose)
    links, labels = extract(
        markdown,
        converted.source,
        mime=converted.mime,
        path=relative_path,
        head=head,
        structure=structure,
        lost=lost if converted.keeps_lines else [],
    )
    return PreparedDocument(
        source_hash=source_hash,
        stat=stat,
        mime=converted.mime,
        converter=converted.converter,
        title=title,
        own_title=own_title,
        language=language,
        metadata=metadata,
        tags=_tags(converted.metadata, head.metadata, inline),
        line_map=lost if converted.keeps_lines else [],
        locations=_canonical(converted.locations, lost),
        markdown=markdown,
        mirror_hash=mirror_hash,
        chunks=_chunks(own_title, markdown, passages),
        terms=terms_of(language, relative_path, titles(title, metadata), markdown, converted.mime),
        definitions=code.definitions if code else [],
        links=links,
        aliases=properties.names(metadata),
        labels=labels,
        unread=[Unread("", "bad_head", head.unread)] if head.unread else [],
    )


def _masked(converted: Converted) -> Converted:
    title = secret_masking.mask(converted.title) if converted.title else None
    return msgspec.structs.replace(converted, markdown=secret_masking.mask(converted.markdown), title=title)


def _chunks(title: str, markdown: str, passages: Sequence[ChunkText]) -> list[Chunk]:
    """Return the chunks. A chunk that continues a section and has no words is not embedded."""
    above: str | None = None
    found = []
    for passage in passages:
        text = markdown[passage.start : passage.end]
        is_embedded = passage.heading != above or has_words(text)
        found.append(Chunk(*passage, embed_hash(title, passage.heading, text) if is_embedded else ""))
        above = passage.heading
    return found


def _inline_fields(converted: Converted, markdown: str, head: Frontmatter, structure: Outline) -> InlineFields:
    if converted.mime != _NOTES:
        return inline_fields.NONE
    hidden = [(0, head.body_start), *links_of_markdown.fenced(markdown, structure)]
    return inline_fields.find(links_of_markdown.without_code(markdown, hidden))


def _tags(converted: Mapping[str, object], head: Mapping[str, object], inline: InlineFields) -> list[str]:
    stated = (tag for each in (head, inline.properties, converted) for tag in tags(each))
    return each_once((*stated, *inline.tags))


def _title_heading(converted: Converted, markdown: str, body_start: int, structure: Outline) -> str:
    """Return the heading that is the title; "" if the text has none. Outside text formats, all parts may have headings
    of the same level; the first one is then the title, unless the format states a title and the level is not 1."""
    if converted.keeps_lines:
        return plain(title_heading(markdown, structure.headings, body_start) or "")
    named = [each for each in structure.headings if each.text]
    first = min(named, key=lambda each: each.level, default=None)
    return plain(first.text) if first and (first.level == 1 or not converted.title) else ""


def _language(given: str | None, metadata: dict[str, object], prose: str) -> str | None:
    stated = given or text(metadata, "language", "lang")
    if stated and re.match(r"[A-Za-z]{2,3}(-|_|\Z)", stated):
        return stated.replace("_", "-").lower().partition("-")[0]
    return languages.detect(prose) if prose else None


def _canonical(locations: Locations | None, lost: LineMap) -> Locations | None:
    """Return the locations for the lines of the canonical text."""
    if locations is None:
        return None
    starts = [msgspec.structs.replace(start, line=canonical_line(lost, start.line)) for start in locations.starts]
    return Locations(locations.kind, starts)


def _is_prose(converted: Converted) -> bool:
    """Return whether a language can be detected: source code and data contain mostly names and numbers."""
    return not converted.converter.startswith("code/") and converted.mime not in _DATA_MIMES


def _one_line(title: str) -> str:
    is_plain = title.isascii() and title.isprintable()
    return " ".join((title if is_plain else canonicalise(title)).split())[:MAX_TITLE_CHARACTERS]


def _mirror_hash(markdown: str, markup: Markup, structure: Outline, body_start: int) -> str:
    """Return the hash of the content that documents share. It covers the text, and also the markup if that gives other
    headings or fences than Markdown."""
    if markup == "markdown" or structure[:2] == outline(markdown, start=body_start)[:2]:
        return digest(markdown)
    return digest(f"{markup}\0{markdown}")
