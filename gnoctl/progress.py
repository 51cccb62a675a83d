"""A progress bar on stderr; a plain line now and then where that is no terminal. rich only to draw."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from gnoctl import text
from gnoctl.terminal import stderr_is_terminal
from gnod.protocol.results import ProgressValue

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

# What is over before that needs no bar, and rich need not be imported for it.
FIRST_DRAW_S = 0.25
LINE_EVERY_S = 5.0


class Progress:
    """A context manager to be given to `Connection.call(on_progress=…)`."""

    def __init__(self, *, quiet: bool, no_color: bool = False) -> None:
        self._quiet = quiet
        self._no_color = no_color or None  # None: rich looks at NO_COLOR itself
        self._draws = stderr_is_terminal()
        self._due = time.monotonic() + (FIRST_DRAW_S if self._draws else LINE_EVERY_S)
        self._bar: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
            total = "" if value.total is None else f" of {value.total:,}"
            print(f"{text.line(value.stage)}: {value.done:,}{total}", file=sys.stderr, flush=True)

    def _draw(self, value: ProgressValue) -> None:
        bar = self._bar or self._start()
        if value.stage not in self._tasks:
            self._tasks[value.stage] = bar.add_task(text.line(value.stage), total=None, label="")
        label = text.clip_start(text.line(value.label or ""), 40)
        bar.update(self._tasks[value.stage], completed=value.done, total=value.total, label=label)

    def _start(self) -> RichProgress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[label]}", style="dim", markup=False),
            console=Console(stderr=True, no_color=self._no_color),
            transient=True,
        )
        self._bar.start()
        return self._bar
