"""`gnoctl service status`."""

from __future__ import annotations

from collections.abc import Iterator

from gnoctl import text
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.service import State, service_of
from gnod.errors import EXIT_NOT_RUNNING

HELP = """Say whether the daemon is a service, and how that fares.

Starts nothing; the exit status is 3 when nobody would start the daemon but gnoctl.
"""


def status(options: JsonOptions) -> int:
    state = service_of(options.places).state()
    if options.json:
        print_json(state._asdict())
    else:
        for line in render(state, options.places.index):
            print(text.line(line))
    return 0 if state.starts else EXIT_NOT_RUNNING


def render(state: State, index: str) -> Iterator[str]:
    if state.unavailable:
        yield state.unavailable
    elif not state.installed:
        yield f"gnod is no service, for index '{index}': `gnoctl service install` makes it one"
    elif state.running:
        yield f"gnod runs as a service of {state.manager}, for index '{index}' (pid {state.pid})"
    elif state.starts:
        yield f"gnod is a service of {state.manager}, for index '{index}', and is started when it is needed"
    else:
        yield f"gnod is a service of {state.manager}, for index '{index}', and switched off: `gnoctl service install`"
    yield from (f"  {name}" for name in state.files)


COMMAND = Command(JsonOptions, status, HELP)
