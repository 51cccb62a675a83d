"""Print the modules of gnod that run for one warm hybrid query, which a reader of that code path must read.

    python -m benchmarks.query_modules [--documents N] [--verbose]

With some thousand documents or more, the daemon searches with postings. The count includes code that the event loop and
the threads of readers run from the request to the reply, but no background threads. Needs a model in the cache of the
tests.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import psutil

from benchmarks.throwaway import Throwaway, cached_model, require_shared, throwaway, write_documents

QUERY = "how do cells express proteins"
_FOREGROUND = ("MainThread", "gnod-reader", "asyncio")
_QUIET_S = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--verbose", action="store_true", help="print the modules, with the number of calls")
    parser.add_argument("--serve", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return _serve(options.serve)
    require_shared()
    model = cached_model()
    if model is None:
        sys.exit("no model in the cache of the tests: run `make test` once")
    modules = _measured(model, options.documents)
    if options.verbose:
        for name in sorted(modules):
            print(f"{modules[name]:6}  {name}")
    print(f"{len(modules)} modules of gnod run for one hybrid query over {options.documents:,} documents")
    return 0


def _measured(model: Path, documents: int) -> dict[str, int]:
    """Return the number of functions of each module that a query calls."""
    config = f'version: "1.0"\nmodels:\n  embed: file:{model}\n'
    with throwaway(config) as daemon, tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), documents)
        daemon.add(Path(folder), "docs")
        while daemon.call("index.status")["embedding"]["pending"]:
            time.sleep(0.5)
        daemon.wait_for_postings()
        daemon.hang_up()
        daemon.gnoctl("daemon", "stop")
        return _traced(daemon, Path(folder) / "modules.json")


def _traced(daemon: Throwaway, found: Path) -> dict[str, int]:
    command = [sys.executable, "-m", "benchmarks.query_modules", "--serve", str(found)]
    process = subprocess.Popen(command, env=daemon.environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        process.stdout.readline()  # wait until the daemon serves
        for _ in range(3):
            daemon.call("search.query", query=QUERY)
        time.sleep(_QUIET_S)
        process.send_signal(signal.SIGUSR2)
        time.sleep(_QUIET_S)
        stages = {each["stage"] for each in daemon.call("search.query", query=QUERY, explain=True)["explain"]["stages"]}
        process.send_signal(signal.SIGUSR2)
        while not found.exists():
            time.sleep(0.1)
        assert {"bm25", "embed", "knn", "fuse"} <= stages, stages
        counts: dict[str, int] = json.loads(found.read_text())
        return counts
    finally:
        daemon.hang_up()
        psutil.Process(process.pid).terminate()
        process.wait()


def _serve(found: Path) -> int:
    """Run the daemon. The first SIGUSR2 starts counting calls; the second writes the counts to a file."""
    calls: Counter[str] = Counter()
    counts = False

    def count(frame: FrameType, event: str, _: object) -> None:
        if counts and event == "call":
            name = frame.f_globals.get("__name__", "")
            if name.startswith("gnod.") and threading.current_thread().name.startswith(_FOREGROUND):
                calls[name] += 1

    def switch(*_: object) -> None:
        nonlocal counts
        counts = not counts
        if not counts:
            part = found.with_suffix(".part")
            part.write_text(json.dumps(calls))
            part.replace(found)

    signal.signal(signal.SIGUSR2, switch)
    threading.setprofile(count)
    sys.setprofile(count)
    from gnod.__main__ import main as serve

    return serve([])


if __name__ == "__main__":
    sys.exit(main())
