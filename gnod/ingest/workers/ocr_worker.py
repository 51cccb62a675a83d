"""A worker that recognises pages, `python -m gnod.ingest.workers.ocr_worker`: a converter worker with the lowest
priority."""

from __future__ import annotations

import contextlib
import os
import sys

from gnod.ingest.workers import worker

_LOWEST = 19


def main(arguments: list[str]) -> int:
    # Do not use SCHED_IDLE: on a machine that is always busy, the worker would not even start.
    with contextlib.suppress(OSError):
        os.nice(_LOWEST)
    return worker.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
