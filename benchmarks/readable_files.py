"""Count the files of a folder that become documents, and the reasons for others. Also prints the processor time.

    .venv/bin/python -m benchmarks.readable_files FOLDER [--show 20]

One process converts and analyses the files like a worker, without its sandbox. `--show` prints the beginning of some
documents.
"""

from __future__ import annotations

import argparse
import logging
import random
import time
import warnings
from collections import Counter
from pathlib import Path

from gnod.ingest.workers.jobs import Failure, FileJob, Outcome
from gnod.ingest.workers.worker import perform

_SHOWN = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the beginning of N documents")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    files = sorted(path for path in options.folder.rglob("*") if path.is_file())
    started = time.process_time()
    outcomes = {path: _read(path, options.folder) for path in files}
    took = time.process_time() - started
    failed = {path: each for path, each in outcomes.items() if isinstance(each, Failure)}
    print(f"{len(files):,} files, {len(files) - len(failed):,} documents, {took:.1f} s")
    print(f"reasons: {dict(Counter(each.kind for each in failed.values()).most_common())}")
    print(f"extensions of the others: {dict(Counter(path.suffix.lower() for path in failed).most_common(15))}")
    _show({path: each for path, each in outcomes.items() if path not in failed}, options.show)


def _read(path: Path, folder: Path) -> Outcome:
    name = str(path.relative_to(folder))
    return perform(FileJob(path=str(path), relative_path=name, max_bytes=100_000_000, max_characters=50_000_000))


def _show(documents: dict[Path, Outcome], count: int) -> None:
    for path in random.Random(1).sample(sorted(documents), min(count, len(documents))):
        document = documents[path]
        assert not isinstance(document, Failure)
        print(f"\n=== {path}\n{getattr(document, 'title', '')}\n{getattr(document, 'markdown', '')[:_SHOWN]}")


if __name__ == "__main__":
    main()
