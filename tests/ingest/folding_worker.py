"""A converter worker, `python -m folding_worker`, that reads files from the file system of `tests/folding.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from gnod.ingest.workers import worker
from tests.folding import folding_disk

if __name__ == "__main__":
    with folding_disk():
        sys.exit(worker.main(sys.argv[1:]))
