"""A progress bar on stderr, or a line every few seconds if stderr is not a terminal. rich is imported only when it
draws."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from gnoctl.printing import text
from gnoctl.printing.terminal import stderr_is_terminal
from gnoctl.printing.wording import size
from gnod.protocol.base import ProgressValue

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

# Shorter work needs no bar, so it does not import rich.
FIRST_DRAW_S = 0.25
LINE_EVERY_S = 5.0


class CallProgress:
    """A context manager, for `Connection.call(on_progress=…)`."""

    def __init__(self, *, quiet: bool, no_color: bool = False) -> None:
        self._quiet = quiet
        self._no_color = no_color or None  # None: rich reads NO_COLOR itself
        self._draws = stderr_is_terminal()
        self._due = time.monotonic() + (FIRST_DRAW_S if self._draws else LINE_EVERY_S)
        self._bar: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> CallProgress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, value: ProgressValue) -> None:
        if self._quiet:
            return
        if self._bar is None and time.monotonic() < self._due:
            return
        if self._draws:
            self._draw(value)
        else:
            self._due = time.monotonic() + LINE_EVERY_S
            label = f", {text.line(value.label)}" if value.label and not value.unit else ""
            line = f"{text.line(_name(value))}: {_amount(value, ' of ')}{label}"
            print(line.removesuffix(": "), file=sys.stderr, flush=True)

    def _draw(self, value: ProgressValue) -> None:
        bar = self._bar or self._start()
        name = _name(value)
        if name not in self._tasks:
            self._tasks[name] = bar.add_task(text.line(name), total=None, label="", amount="")
        # If bytes are counted, the item is part of the name; if items are counted, the label is the current item.
        label = "" if value.unit else text.clip_start(text.line(value.label or ""), 40)
        bar.update(self._tasks[name], completed=value.done, total=value.total, label=label, amount=_amount(value, "/"))

    def _start(self) -> RichProgress:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[amount]}", style="progress.download", markup=False),
            TimeRemainingColumn(),
            TextColumn("{task.fields[label]}", style="dim", markup=False),
            console=Console(stderr=True, no_color=self._no_color),
            transient=True,
        )
        self._bar.start()
        return self._bar


def _name(value: ProgressValue) -> str:
    return f"{value.stage} {value.label}" if value.unit and value.label else value.stage


def _amount(value: ProgressValue, of: str) -> str:
    if value.unit != "bytes":
        unit = f" {value.unit}" if value.unit else ""
        return f"{value.done:,}{unit}" if value.total is None else f"{value.done:,}{of}{value.total:,}{unit}"
    if value.total is None:
        return size(value.done) if value.done else ""
    return f"{size(value.done)}{of}{size(value.total)}"
