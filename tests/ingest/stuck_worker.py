"""A converter worker, `python -m stuck_worker`, that does not start if one of its folders has the name `silent`."""

from __future__ import annotations

import sys
import time

from gnod.ingest.workers import worker
from gnod.ingest.workers.confinement import Confinement

_begin = Confinement.begin


def begin(confinement: Confinement) -> list[str]:
    if any(root.endswith("/silent") for root in confinement._roots or ()):
        time.sleep(600)
    return _begin(confinement)


Confinement.begin = begin  # type: ignore[method-assign, assignment]

if __name__ == "__main__":
    sys.exit(worker.main(sys.argv[1:]))
