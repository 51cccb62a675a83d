"""`gnoctl backup`: the whole index and the memories as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gnoctl import text
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.progress import Progress
from gnoctl.wording import count, duration, size
from gnod.protocol.params import IndexBackupParams
from gnod.protocol.results import IndexBackupResult

HELP = """Write the index, the memories and the config file to one file.

The daemon goes on indexing and searching meanwhile; the file holds everything as it was at one moment: texts, vectors,
what could not be read. Memories are in it encrypted, as they are on the disk, without their key. Models are not in it,
and neither are your own files. It is readable by you alone, as the index is. `gnoctl restore FILE` brings it back, here
or on another machine.

Examples:

  gnoctl backup ~/backups/notes.tar

  gnoctl backup --force /media/stick/gnod.tar
"""


class BackupOptions(JsonOptions, frozen=True, kw_only=True):
    file: Annotated[str, argument("FILE", help="The file to write.")]
    force: Annotated[bool, option("--force", help="Replace a backup of that name.")] = False


def backup(options: BackupOptions) -> None:
    params = IndexBackupParams(path=str(Path(options.file).expanduser().absolute()), force=options.force)
    with options.connect() as daemon, Progress(quiet=options.quiet, no_color=options.no_color) as progress:
        result = daemon.call("index.backup", params, IndexBackupResult, on_progress=progress)
    if options.json:
        print_json(result)
        return
    memories = f", memories ({size(result.memory_bytes)}, encrypted)" if result.memory_bytes else ""
    what = f"{count(result.documents, 'document')}{memories}, {size(result.bytes)}"
    print(f"wrote {text.line(result.path)}: {what}, in {duration(result.took_ms / 1000)}")


COMMAND = Command(BackupOptions, backup, HELP)
