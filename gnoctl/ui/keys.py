"""The keys of the terminal UI. The app binds them; the key line, the help and docs/ui.md show them. Pure."""

from __future__ import annotations

from typing import NamedTuple


class KeyBinding(NamedTuple):
    """`name`: Textual's names, separated by commas. `shown`: the name for people. `label`: the text in the key line; ""
    if the key is not there."""

    name: str
    shown: str
    action: str
    label: str
    help: str


KEYS = (
    KeyBinding("enter", "Enter", "open", "open", "Open the file at the line or page, as `gnoctl open` does"),
    KeyBinding(
        "tab", "Tab", "preview", "preview", "Read in the preview with the arrow keys; again: return to the query"
    ),
    KeyBinding("n,N", "n N", "", "", "In the preview: go to the next match of the document, or to the previous one"),
    KeyBinding("ctrl+t", "Ctrl-T", "mode", "mode", "Switch between hybrid, keyword and vector search"),
    KeyBinding("f2", "F2", "filters", "filters", "Filter by folder, file type, tag, date and every other field"),
    KeyBinding("ctrl+a", "Ctrl-A", "ask", "ask", "Answer the query with quotes from the documents"),
    KeyBinding("ctrl+s", "Ctrl-S", "similar", "similar", "Find documents similar to the selected one"),
    KeyBinding("ctrl+l", "Ctrl-L", "links", "links", "Show the links of the document, and what links to it"),
    KeyBinding("f3", "F3", "loose", "", "Also show documents that are only loosely similar; again: hide them"),
    KeyBinding("ctrl+y", "Ctrl-Y", "copy", "copy", "Copy the path; again: a citation; again: the address"),
    KeyBinding("f1", "F1", "help", "help", "Show all keys"),
    KeyBinding("up,down", "↑ ↓", "", "", "Select a hit; also Page up, Page down, Ctrl-Home and Ctrl-End"),
    KeyBinding(
        "escape", "Esc", "leave", "", "Go back: from the preview or similar documents to the query; clear it; quit"
    ),
    KeyBinding("ctrl+z", "Ctrl-Z", "suspend_process", "", "Return to the shell; `fg` continues"),
    KeyBinding("ctrl+c,ctrl+q", "Ctrl-C", "quit", "", "Quit"),
)


def key_line(width: int, opens: str) -> list[tuple[str, str]]:
    """Return as many pairs (key, label) as fit in `width` cells, and always the help. `opens`: the label of Enter."""
    labelled = [(key.shown, opens if key.action == "open" else key.label) for key in KEYS if key.label]
    last = labelled.pop()
    shown: list[tuple[str, str]] = []
    for pair in labelled:
        if _width([*shown, pair, last]) > width:
            break
        shown.append(pair)
    return [*shown, last]


def _width(pairs: list[tuple[str, str]]) -> int:
    return sum(len(key) + 1 + len(label) + 2 for key, label in pairs) - 2
