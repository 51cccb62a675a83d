"""Measure the server of `gnoctl web`: start, memory, pages of PDF files, long documents, events. Prints figures.

.venv/bin/python -m benchmarks.web_server
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.generated_pdfs import long_file
from benchmarks.throwaway import Throwaway, percentile, throwaway, web_server

PAGES = 200
LONG_BYTES = 5_000_000
ROUNDS = 20


class Site:
    """The connection of a signed-in browser to the server."""

    def __init__(self, daemon: Throwaway) -> None:
        started = time.perf_counter()
        self.process, address = web_server(daemon)
        self.origin, _, token = address.partition("/?token=")
        self.connection = self.connected()
        answer = self.get(f"/?token={token}")
        self.cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]
        self.shell_bytes = len(self.get("/").content)
        self.start_ms = 1000 * (time.perf_counter() - started)

    cookie = ""

    def connected(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.origin.removeprefix("http://"), timeout=60)

    def get(self, path: str, **headers: str) -> Any:
        self.connection.request("GET", path, headers={"Cookie": self.cookie, **headers})
        return self._answer()

    def post(self, path: str, **params: object) -> Any:
        headers = {"Cookie": self.cookie, "Origin": self.origin, "Content-Type": "application/json"}
        self.connection.request("POST", path, json.dumps(params), headers)
        return self._answer()

    def _answer(self) -> Any:
        response: Any = self.connection.getresponse()
        response.content = response.read()
        assert response.status in (200, 304), response.content
        return response

    @property
    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1000

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.wait()


def main() -> None:
    with throwaway("models: {preset: none}\n") as daemon, contextlib.ExitStack() as stack:
        folder = daemon.folder / "notes"
        folder.mkdir()
        (folder / "long.pdf").write_bytes(long_file(PAGES))
        paragraph = "The harbour reports a **tide** of 3 m, see [the log](log.md).\n\n"
        (folder / "long.md").write_text("# Log\n\n" + paragraph * (LONG_BYTES // len(paragraph)))
        (folder / "a.py").write_text("def f(x: int) -> str:\n    return 'text'\n" * 200)
        daemon.add(folder, "notes")
        site = Site(daemon)
        stack.callback(site.end)
        row("from the command to the shell, cold", f"{site.start_ms:.0f} ms, {site.shell_bytes:,} bytes", "–")
        row("memory of the server, idle", f"{site.memory_mb:.0f} MB", "≤ 80 MB")
        row("search by keyword, through the page", times(lambda _: searched(site)), "–")
        page_of_pdf(site)
        documents(site)
        row("memory of the server afterwards", f"{site.memory_mb:.0f} MB", "≤ 80 MB")
        row("a saved file is on the stream", times(lambda number: saved(site, folder, number)), "≤ 0.5 s")


def searched(site: Site) -> None:
    site.post("/api/rpc/search.lexical", query="tide harbour")


def page_of_pdf(site: Site) -> None:
    text = site.get("/api/document?ref=notes/long.pdf&from=1").content.decode()
    word = re.findall(r"<p [^>]*>(\w{5,}) ", json.loads(text)["html"])[0]

    def opened(number: int) -> None:
        page = 1 + 7 * number % PAGES
        site.get(f"/api/image?ref=notes/long.pdf&page={page}&width=1000")
        site.post("/api/rpc/document.boxes", ref=f"gno://notes/long.pdf#page={page}", query=word)

    row(f"page with boxes in a PDF file of {PAGES} pages", times(opened), "≤ 250 ms")
    address = "/api/image?ref=notes/long.pdf&page=3&width=1000"
    known = site.get(address).headers["ETag"]
    row("the same page again (304)", times(lambda _: site.get(address, **{"If-None-Match": known})), "≤ 10 ms")


def documents(site: Site) -> None:
    row("first part of code", times(lambda _: site.get("/api/document?ref=notes/a.py")), "–")
    row("first part of a document of 5 MB", times(lambda _: site.get("/api/document?ref=notes/long.md")), "–")
    middle = "/api/document?ref=notes/long.md&from=70000"
    row("another part of it", times(lambda _: site.get(middle)), "–")


def saved(site: Site, folder: Path, number: int) -> None:
    with events(site) as stream:
        (folder / f"new{number}.md").write_text(f"# New {number}\n")
        for line in stream:
            if f"new{number}.md" in line.decode():
                return


@contextlib.contextmanager
def events(site: Site) -> Iterator[Any]:
    """Yield the lines of the event stream from now on."""
    connection = site.connected()
    connection.request("GET", "/api/events", headers={"Cookie": site.cookie})
    stream = connection.getresponse()
    while b"event: state" not in stream.readline():
        pass
    yield stream
    stream.close()
    connection.close()


def times(work: Callable[[int], object]) -> str:
    taken = []
    for number in range(ROUNDS):
        started = time.perf_counter()
        work(number)
        taken.append(1000 * (time.perf_counter() - started))
    return f"first {taken[0]:.0f}, p50 {median(taken):.0f}, p95 {percentile(taken, 0.95):.0f} ms"


def row(what: str, figure: str, target: str) -> None:
    print(f"| {what} | {target} | {figure} |")


if __name__ == "__main__":
    main()
