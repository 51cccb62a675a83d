"""Demonstrate gnod in temporary directories: start it, index a folder, run queries, remove everything.

demo.py             index the folder samples/ of this repository
demo.py FOLDER      index your own folder; the queries come from the titles of its documents

If no model can be downloaded, the demo shows keyword search only and says so.
"""
# ruff: noqa: T201

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from gnod import folders, paths
from gnod.config import model_uris
from gnod.models.files import ModelFiles
from gnod.presets import PRESETS

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
GNOCTL = Path(sys.executable).parent / "gnoctl"

SAMPLE_QUERIES = (
    ("a question, as you would ask it", "how do I deploy to production"),
    ("C++ is not C, and not C#", "C++"),
    ("the name of a file, and the files that mention it", "config.yaml"),
    ("stemming in the language of the document: the singular finds the plural", "Kartoffel"),
    ("a word in a script without spaces", "紅葉"),
    ("a part of an identifier: the function is retry_with_backoff", "backoff"),
    ("a word in a PDF, and a word in an Excel table", "anemometer"),
    ("no file contains these words …", "website unavailable"),
)
# None of these queries shares a word with the document that it finds.
SAMPLE_MEANINGS = (
    ("… but vector search finds a report of an outage", "website unavailable"),
    ("vector search: a boiler that does not ignite", "furnace fault"),
    ("vector search: the lamps of a washing machine", "laundry appliance is stuck"),
)
SAMPLE_BOTH = (("hybrid search: keyword and vector search combined", "why was the website down in October"),)
SAMPLE_REF = "samples/docs/how-we-deploy.md"
HITS = "2"
# The smallest preset: its embedding model comes from the Python package index (84 MB) and embeds fast.
PRESET = "mini"
EMBED_LIMIT_S = 60
LISTED = 2000
FOUND_QUERIES = 4

# Scripts without spaces: two characters count as a word.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_WORD = re.compile(r"[^\W\d_]{5,}")


def main() -> int:
    folder = Path(sys.argv[1]).expanduser() if len(sys.argv) > 1 and sys.argv[1] else SAMPLES
    shown = os.path.relpath(folder) if folder == SAMPLES else str(folder)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    started = time.monotonic()
    with _temporary_index() as (place, environment):
        gnoctl = _Gnoctl(environment)
        print(f"The index, the config file and the socket are in {place}. The demo removes them at the end.")
        gnoctl.show("daemon", "start")
        has_model = _install_model(gnoctl, place)
        status = gnoctl.show("init", shown)
        if status:
            return status
        documents = gnoctl.documents()
        queries = list(SAMPLE_QUERIES if folder == SAMPLES else _queries_from_titles(documents))
        for remark, query in queries:
            gnoctl.show("search", query, "-n", HITS, remark=remark)
        if has_model and documents:
            is_sample = folder == SAMPLES
            _show_vector_search(
                gnoctl,
                SAMPLE_MEANINGS if is_sample else [("vector search", query) for _, query in queries[:2]],
                SAMPLE_BOTH if is_sample else [("hybrid search", query) for _, query in queries[:2]],
                SAMPLE_REF if is_sample else documents[len(documents) // 2]["uri"],
            )
        if not documents:
            print("\nNo file was indexed. Run `gnoctl why FILE` to see the reason.")
        gnoctl.show("status", remark="what the index contains, and whether it is current")
    print(f"\nThe daemon is stopped and {place} is removed. The demo took {time.monotonic() - started:.0f} s.")
    print(_next_steps(shown if folder != SAMPLES else "~/notes"))
    return 0


def _install_model(gnoctl: _Gnoctl, place: Path) -> bool:
    """Download the embedding model. Return whether it is installed."""
    _link_model(place)
    failed = gnoctl.show("models", "use", PRESET, remark="the smallest models, for English")
    failed = failed or gnoctl.show("models", "pull", "embed", remark="the embedding model, for vector search")
    if failed:
        print("\nThe embedding model is not installed, so the demo continues with keyword search only.")
    return not failed


def _link_model(place: Path) -> None:
    """Link the model from the user's cache, if it is there, to avoid a download of 84 MB for each demo.

    The links are in the demo's own folder, so replacing or removing them does not affect the user's files.
    """
    uri = PRESETS[PRESET]["embed"]
    assert uri
    found = ModelFiles(paths.resolve(folders.DEFAULT_INDEX).models_dir).find(uri)
    if found:
        folder = place / "cache" / "models" / model_uris.folder_name(model_uris.parse(uri))
        folder.mkdir(parents=True)
        for file in found.path.parent.iterdir():
            (folder / file.name).symlink_to(file)


def _show_vector_search(
    gnoctl: _Gnoctl, queries: Iterable[tuple[str, str]], both: Iterable[tuple[str, str]], reference: str
) -> None:
    """Wait up to EMBED_LIMIT_S for the vectors, then show vector and hybrid search."""
    started = time.monotonic()
    gnoctl.show("embed", remark="gnod embeds in the background; this waits until it is done", limit_s=EMBED_LIMIT_S)
    is_complete = time.monotonic() - started < EMBED_LIMIT_S
    if not is_complete:
        print("\nThe demo does not wait any longer. Vector search finds only documents that have vectors already.")
    for remark, query in queries:
        gnoctl.show("vsearch", query, "-n", "1", remark=remark)
    for remark, query in both:
        gnoctl.show("query", query, "-n", HITS, remark=remark)
    if is_complete:
        gnoctl.show("similar", reference, "-n", HITS, remark="documents about the same subject")


@contextlib.contextmanager
def _temporary_index() -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the environment of an index that is removed at the end of the block, together with its daemon."""
    # Always under /tmp, regardless of TMPDIR, because the path of a socket must be short.
    place = Path(tempfile.mkdtemp(prefix="gnod-demo.", dir="/tmp"))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GNO_") or name == "GNO_OFFLINE"
    }
    environment |= {
        "GNO_CONFIG_DIR": str(place / "config"),
        "GNO_DATA_DIR": str(place / "data"),
        "GNO_CACHE_DIR": str(place / "cache"),
        "GNO_SOCKET": str(place / "gnod.sock"),
    }
    try:
        yield place, environment
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _stop(environment)
        shutil.rmtree(place, ignore_errors=True)


def _stop(environment: dict[str, str]) -> None:
    subprocess.run([str(GNOCTL), "--no-start", "daemon", "stop"], env=environment, capture_output=True, check=False)
    # After Ctrl-C in the first second, the daemon does not listen yet and must be terminated.
    left = [process for process in psutil.process_iter() if _belongs(process, environment)]
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    for process in psutil.wait_procs(left, timeout=5)[1]:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _belongs(process: psutil.Process, environment: dict[str, str]) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        return process.pid != os.getpid() and process.environ().get("GNO_DATA_DIR") == environment["GNO_DATA_DIR"]
    return False


class _Gnoctl:
    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._styled = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def show(self, *words: str, remark: str = "", limit_s: float | None = None) -> int:
        """Print the command as a user would type it, and run it. Return its exit status.

        After `limit_s` it receives SIGINT, like Ctrl-C.
        """
        comment = f"  # {remark}" if remark else ""
        line = f"$ gnoctl {shlex.join(words)}"
        print(f"\n\x1b[1;32m{line}\x1b[0;2m{comment}\x1b[0m" if self._styled else f"\n{line}{comment}", flush=True)
        with subprocess.Popen([str(GNOCTL), *words], env=self._environment) as process:
            try:
                return process.wait(limit_s)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                return process.wait()

    def documents(self) -> list[dict[str, str]]:
        command = [str(GNOCTL), "ls", "--json", "-n", str(LISTED)]
        listed = subprocess.run(command, env=self._environment, stdout=subprocess.PIPE, check=True)
        documents: list[dict[str, str]] = json.loads(listed.stdout)["documents"]
        return documents


def _queries_from_titles(documents: Iterable[dict[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield a title of several words, and single words from other titles across the list."""
    titles = list(dict.fromkeys(document["title"] for document in documents))
    long_ones = [title for title in titles if len(_WORD.findall(title)) >= 3 and len(title) <= 60 and '"' not in title]
    if long_ones:
        yield "a title", long_ones[len(long_ones) // 2]
    words = list(dict.fromkeys(word for title in titles if (word := _longest_word(title))))
    step = max(1, len(words) // FOUND_QUERIES)
    for word in words[::step][:FOUND_QUERIES]:
        yield "a word from a title", word


def _longest_word(title: str) -> str:
    unspaced = _UNSPACED.findall(title)
    return unspaced[0][:2] if unspaced else max(_WORD.findall(title), key=len, default="").lower()


def _next_steps(folder: str) -> str:
    return f"""
To use gnod with your own files (docs/files.md says where the index is stored):

  source .venv/bin/activate     # or `pipx install .`, to have gnoctl in every shell
  gnoctl init {folder}
  gnoctl search 'some words'
  gnoctl models pull embed      # the embedding model; docs/models.md lists the presets
  gnoctl vsearch 'what the text is about'
  gnoctl --help"""


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
