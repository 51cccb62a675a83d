"""The lines around the results: the number of hits, the state of the index, the keys, and advice when there is nothing
to show. Turns the state into text; must not depend on widgets."""

from __future__ import annotations

from rich.text import Text

from gnoctl.printing import text
from gnoctl.printing.wording import corrected, count, loosely, unreadable
from gnoctl.ui import styles
from gnoctl.ui.connection import Watched
from gnoctl.ui.keys import key_line
from gnoctl.ui.session import UiSession

SEPARATOR = " · "


def found(session: UiSession, note: str = "") -> Text:
    """Return the line above the hits. A problem or a note to the user replaces it."""
    result = session.result
    if session.is_late:
        before = ": these are the results from before" if result and result.hits else ""
        return Text(f"waiting for the daemon{before}", styles.WARNING)
    if session.problem or note:
        return Text(text.line(session.problem or note), styles.WARNING if session.problem else styles.BOLD)
    if result is None:
        return Text()
    if session.is_blank:
        return Text(f"Type to search {count(result.total, 'document')}. These changed last.", styles.DIM)
    shown = f"{len(result.hits):,} of {count(result.total, 'document')}"
    if result.mode in ("hybrid", "vector", "similar"):
        shown = f"the best {len(result.hits):,}" + (f"; {loosely(result.loose)} (F3)" if result.loose else "")
    similar = f"similar to {session.similar_to.title}" if session.similar_to else ""
    line = Text(text.line(SEPARATOR.join(filter(None, (similar, shown, f"{result.took_ms:.0f} ms")))), styles.DIM)
    for remark in [*corrected(result.corrections), *result.hints, *result.notes, result.lexical_only_reason]:
        if remark:
            line.append(SEPARATOR, styles.DIM).append(text.line(remark), styles.WARNING)
    return line


def status(watched: Watched, session: UiSession) -> Text:
    """Return freshness, pending work and the models in use."""
    if watched.problem:
        return Text(f"the daemon does not answer, trying again: {text.line(watched.problem)}", styles.WARNING)
    if watched.freshness is None:
        return Text("connecting …", styles.DIM)
    parts = [watched.freshness.state]
    if failed := watched.freshness.failed:
        parts.append(unreadable(failed))
    embedding = watched.embedding
    if embedding and embedding.reason and embedding.state not in ("idle", "embedding"):
        parts.append(f"embedding is {embedding.state}: {embedding.reason}")
    used = watched.models if session.mode != "keyword" else []
    parts.append(", ".join(used) or ("no model: keyword search only" if not watched.models else "no model in use"))
    return Text(text.line(SEPARATOR.join(parts)), styles.DIM if watched.freshness.current else styles.WARNING)


def keys(width: int, opens: str) -> Text:
    line = Text()
    for key, label in key_line(width, opens):
        line.append(key, styles.KEY).append(f" {label}  ")
    return line


def empty(watched: Watched, session: UiSession) -> list[str]:
    """Return the message instead of hits: what happened, then what to do."""
    if watched.collections is None:
        return ["The daemon does not answer.", "The search begins as soon as it does."] if watched.problem else []
    if not watched.collections:
        return ["No folder is indexed yet.", "", "Add one in another terminal:", "  gnoctl collection add FOLDER"]
    if session.result is None or session.problem:
        return []
    if not any(collection.documents for collection in watched.collections):
        return ["No document is indexed yet.", "", "Files appear by themselves; `gnoctl status` tells more."]
    asked = session.similar_to.title if session.similar_to else session.query
    lines = [f"No results for {text.line(asked)}" if asked else "No document passes the filters.", ""]
    if session.result.loose:
        lines.append(f"F3 shows them: {loosely(session.result.loose)}.")
    if any(session.narrowing):
        lines.append(f"F2 changes the filters: {text.line(str(session.narrowing))}")
    if session.mode == "keyword" and watched.has_models:
        lines.append("Ctrl-T switches to hybrid or vector search.")
    return lines
