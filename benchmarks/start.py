"""Measure the start of the daemon until its first answer, empty and with an index. Prints figures.

    .venv/bin/python -m benchmarks.start [--data FOLDER] [--times 5]

Starts `gnod` as a process, connects as soon as it listens, and searches once. FOLDER has the folders `data` and
`config` of an index. Prints the wall time and the processor time of the process until the answer, and the processor
time of its imports. On a busy machine, only the processor time is meaningful.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from benchmarks.throwaway import Throwaway

_IMPORTS = "import time, gnod.__main__, gnod.daemon.composition; print(time.process_time())"


def started(daemon: Throwaway) -> tuple[float, float]:
    """Return the wall time and the processor time in seconds until a search was answered."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "gnod"], env=daemon.environment, stdout=subprocess.DEVNULL, cwd="/"
    )
    try:
        while True:
            try:
                daemon.call("search.lexical", query="boundary layer")
                break
            except (FileNotFoundError, ConnectionRefusedError):
                daemon.hang_up()
                time.sleep(0.005)
        took_s = time.perf_counter() - began
        spent = psutil.Process(process.pid).cpu_times()
        return took_s, spent.user + spent.system
    finally:
        daemon.hang_up()
        process.terminate()
        process.wait()


def imports_s() -> float:
    return float(subprocess.check_output([sys.executable, "-P", "-c", _IMPORTS], cwd="/"))


def measure(name: str, folder: Path, times: int) -> None:
    (folder / "data").mkdir(exist_ok=True)
    took = [started(Throwaway(folder)) for _ in range(times)]
    walls, spent = [each for each, _ in took], [each for _, each in took]
    print(
        f"{name}: start to the first answer, median (best): {median(walls):.2f} ({min(walls):.2f}) s,"
        f" processor {median(spent):.2f} ({min(spent):.2f}) s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the start of the daemon until its first answer.")
    parser.add_argument("--data", type=Path, help="a folder with an index")
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    imports = [imports_s() for _ in range(arguments.times)]
    print(f"imports: processor {median(imports):.2f} ({min(imports):.2f}) s")
    with TemporaryDirectory(prefix="gnod-start-", dir="/tmp") as folder:
        measure("empty", Path(folder), arguments.times)
    if arguments.data:
        measure(str(arguments.data), arguments.data, arguments.times)


if __name__ == "__main__":
    main()
