"""`gnoctl service uninstall`."""

from __future__ import annotations

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.service import files, service_of

HELP = """Undo `gnoctl service install`: stop the daemon and remove what was written.

Your index, your config and the models stay. gnoctl starts the daemon again when it is needed.
"""


def uninstall(options: JsonOptions) -> None:
    service = service_of(options.places)
    removed = [str(path) for path in service.files if path.exists()]
    for path in service.files:
        files.refuse_foreign(path)
    if removed:
        service.end()
        service.remove()
    if options.json:
        print_json({"removed": removed})
    elif removed:
        print(f"gnod is no service of {service.manager} any more, for index '{options.places.index}'")
    else:
        print(f"gnod was no service, for index '{options.places.index}': there is nothing to remove")


COMMAND = Command(JsonOptions, uninstall, HELP)
