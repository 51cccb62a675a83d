"""Writes the long files: generated logs and tables, and real source code, documents and PDF files."""

from __future__ import annotations

import csv
import random
import shutil
import sysconfig
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from openpyxl import Workbook  # type: ignore[import-untyped]

from benchmarks.throwaway import SHARED

KINDS = ("log", "table", "code", "text")

_CODE = ("argparse", "mailbox", "statistics", "subprocess", "tarfile", "typing")
_TEXTS = (
    "dev-docs/gno/docs/API.md",
    "dev-docs/llm/docs/changelog.md",
    "dev-docs/mopidy/docs/changelog/0.x.md",
    "dev-docs/pyserini/docs/conceptual-framework.md",
    "dev-docs/sqlite-utils/docs/python-api.rst",
    "mixed-formats/claude-cookbooks/txt/sample-lease3.txt",
    "peers-files/pwl/data_science/tidy_data.pdf",
    "peers-files/pwl/datastores/the-google-file-system.pdf",
    "peers-files/pwl/design/out-of-the-tar-pit.pdf",
    "peers-files/pwl/digital_currency/bitcoin.pdf",
    "peers-files/pwl/distributed_systems/paxos-made-simple.pdf",
    "peers-files/pwl/operating_systems/therac.pdf",
)
_LOG_LINES = (3200, 4000)
_ROWS = 3000
_SHEETS = 2
_LEVELS = ("INFO", "INFO", "INFO", "DEBUG", "WARNING", "ERROR")
_EVENTS = (
    "worker {n} accepted job {m} from queue mail",
    "worker {n} finished job {m} after {k} ms",
    "request GET /items/{n} returned code {m} in {k} ms",
    "connection from 10.0.{k}.{j} closed by peer after {m} bytes",
    "cache evicted {n} entries, {m} remain",
    "retry {j} of upload part-{n} failed: timeout after {k} s",
)
_CITIES = ("Lyon", "Oslo", "Porto", "Graz", "Ghent", "Turku", "Cork", "Brno", "Split", "Bari")
_FIRST = ("Ana", "Bo", "Carla", "Dora", "Emil", "Finn", "Greta", "Hugo", "Ines", "Jan")
_LAST = ("Abel", "Berg", "Costa", "Diaz", "Ekman", "Falk", "Gruber", "Holm", "Ivens", "Jonker")
_GOODS = ("valve", "hinge", "gasket", "bracket", "spindle", "washer", "bearing", "coupling")


def write(folder: Path, draw: random.Random) -> None:
    """Write the files of each kind into a folder that is named after it."""
    for kind in KINDS:
        (folder / kind).mkdir(parents=True)
    for number, count in enumerate(_LOG_LINES):
        (folder / "log" / f"server{number}.log").write_text("\n".join(_log(draw, count)) + "\n")
    with (folder / "table" / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("name", "email", "city", "balance"), *_people(draw)])
    _workbook(draw).save(folder / "table" / "stock.xlsx")
    for name in _CODE:
        shutil.copy(Path(sysconfig.get_paths()["stdlib"]) / f"{name}.py", folder / "code")
    for text in _TEXTS:
        shutil.copy(SHARED / "corpora" / text, folder / "text")


def _log(draw: random.Random, count: int) -> Iterator[str]:
    time = datetime(2026, 3, 1, 6)
    for number in range(count):
        time += timedelta(milliseconds=draw.randrange(50, 90_000))
        event = _EVENTS[number % len(_EVENTS)]
        values = {"n": number, "m": draw.randrange(10_000, 99_999), "k": draw.randrange(256), "j": draw.randrange(9)}
        yield f"{time.isoformat(timespec='milliseconds')} {draw.choice(_LEVELS)} {event.format(**values)}"


def _people(draw: random.Random) -> Iterator[tuple[str, str, str, int]]:
    for number in range(_ROWS):
        name = f"{draw.choice(_FIRST)} {draw.choice(_LAST)} person{number}"
        yield name, f"p{number}@example.org", draw.choice(_CITIES), draw.randrange(100_000)


def _workbook(draw: random.Random) -> Workbook:
    book = Workbook(write_only=True)
    for sheet in range(_SHEETS):
        page = book.create_sheet(f"Store {sheet + 1}")
        page.append(["article", "kind", "city", "pieces"])
        for number in range(_ROWS // _SHEETS):
            goods = draw.choice(_GOODS)
            page.append([f"{goods} {sheet + 1}{number:04}", goods, draw.choice(_CITIES), draw.randrange(100_000)])
    return book
