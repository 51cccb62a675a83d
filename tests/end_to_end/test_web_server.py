"""`gnoctl web` as a real process: raw HTTP, hostile and friendly requests, while the daemon stops and starts."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from PIL import Image

from gnoctl.web.rpc import ALLOWED
from gnoctl.web.security import HEADERS, MAX_BODY_BYTES
from gnod.presets import PRESETS
from gnod.protocol.methods import METHODS
from tests.machine import Machine, temporary_machine, wait_until
from tests.pdf_files import pdf
from tests.pictures import png_header

pytestmark = pytest.mark.slow


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]


class Site:
    """The web server of a machine. A context manager, which ends the server."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.viewer = machine.folder / "bin" / "viewer"
        self.viewer.parent.mkdir(exist_ok=True)
        self.viewer.write_text(f'#!/bin/sh\necho "$@" > {machine.folder}/opened\n')
        self.viewer.chmod(0o700)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gnoctl", "web", "--no-open", "--port", "0"],
            env=machine.environment | {"DISPLAY": ":99", "VISUAL": "vim", "PATH": str(self.viewer.parent)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()
        self.origin, _, self.token = self.address.partition("/?token=")
        self.host = self.origin.removeprefix("http://")
        self.cookie = ""

    def sign_in(self) -> None:
        self.cookie = self.get(f"/?token={self.token}").headers["set-cookie"].partition(";")[0]

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, timeout=60)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str | None) -> Answer:
        """Send a request like the page. `headers` replace the headers of the page; None removes one."""
        own: dict[str, str | None] = {"Cookie": self.cookie}
        if method == "POST":
            own |= {"Origin": self.origin, "Content-Type": "application/json"}
        given = own | {name.replace("_", "-").title(): value for name, value in headers.items()}
        with contextlib.closing(self.connection()) as connection:
            connection.putrequest(method, path, skip_host="Host" in given, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.send("GET", path, None, **headers)

    def post(self, path: str, params: object = None, **headers: str | None) -> Answer:
        return self.send("POST", path, json.dumps(params or {}).encode(), **headers)

    def raw(self, request: bytes) -> bytes:
        """Send bytes that no HTTP library sends, and return the complete answer."""
        with socket.create_connection(("127.0.0.1", int(self.host.partition(":")[2])), timeout=60) as sock:
            sock.sendall(request)
            sock.shutdown(socket.SHUT_WR)
            received = b""
            with contextlib.suppress(ConnectionResetError):
                while data := sock.recv(65536):
                    received += data
            return received


class Events:
    """The stream of events."""

    def __init__(self, site: Site) -> None:
        self._connection = site.connection()
        self._connection.request("GET", "/api/events", headers={"Cookie": site.cookie})
        self._response = self._connection.getresponse()
        assert self._response.headers["Content-Type"].startswith("text/event-stream")

    def next(self, name: str) -> Any:
        """Return the data of the next event with this name."""
        event = ""
        while True:
            line = self._response.readline().decode()
            assert line, "the stream has ended"
            line = line.rstrip("\n")
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: ") and event == name:
                return json.loads(line.removeprefix("data: "))

    def close(self) -> None:
        self._response.close()
        self._connection.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with temporary_machine() as machine:
        machine.write(
            deploy_md="# Deployment\n\nThe permit is due on 4 May. See [it](sub/b.md).\n\n![p](photo.png)\n",
            sub__b_md="# Second\n\n<script>alert(1)</script>\n",
        )
        (machine.notes / "report.pdf").write_bytes(pdf(["one", "two zqx002"]))
        (machine.notes / "plain.txt").write_text("x")
        (machine.folder / "secret.md").write_text("# Secret zqxsecret\n")
        (machine.folder / "secret.pdf").write_bytes(pdf(["zqxsecret"]))
        (machine.notes / "out.md").symlink_to(machine.folder / "secret.md")
        (machine.notes / "out.pdf").symlink_to(machine.folder / "secret.pdf")
        write_vault(machine)
        machine.ok("init", str(machine.notes), "--name", "notes")
        machine.quiet()
        site = Site(machine)
        with contextlib.ExitStack() as stack:
            stack.callback(site.end)
            site.sign_in()
            yield site


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><path d="M0 0"/></svg>'


def write_vault(machine: Machine) -> None:
    """Write notes with pictures, some of which must not be shown, and notes that embed each other."""
    machine.write(
        vault__boat_md="# Boat\n\n![[oar.png]]\n\n![[circle]] ![[circle#Below]] ![[all.base]]\n",
        vault__own_md="# Own\n\n![[#Part]]\n\n## Part\n\nzqxpart ![[#Part]] ![[own]]\n",
        vault__circle_md="# Circle\n\nRound and round.\n\n![[boat]] ![[circle]]\n\n## Below\n\nzqxbelow\n",
    )
    base = 'views:\n  - name: Notes\n    filters: file.inFolder("vault") && file.ext == "md"\n'
    (machine.notes / "vault" / "all.base").write_text(base)
    for folder in ("ignored", "vault/media", "vault/far/media"):
        (machine.notes / folder).mkdir(parents=True)
    small = Image.new("RGBA", (4, 4), "red")
    for path, size in (
        ("vault/oar.png", small),
        ("vault/far/media/deep.gif", small),
        ("vault/media/my öar.png", small),
        ("vault/media/Straße.png", small),
        ("vault/far/media/my öar.png", small),
        ("vault/wide.png", Image.new("L", (5000, 5000))),
        ("ignored/hidden.png", small),
        ("../secret.png", small),
    ):
        size.save(machine.notes / path, compress_level=1)
    (machine.notes / "vault" / "huge.png").write_bytes(png_header(20_000, 20_000))
    (machine.notes / ".gitignore").write_text("ignored/\n")
    (machine.notes / "vault" / "mast.svg").write_bytes(SVG)
    (machine.notes / "vault" / "text.svg").write_text("zqxsecret")
    (machine.notes / "vault" / "linked.png").symlink_to(machine.folder / "secret.png")
    (machine.notes / "vault" / "swapped.png").write_bytes((machine.notes / "vault" / "oar.png").read_bytes())


def test_the_first_address_signs_the_browser_in(site: Site) -> None:
    answer = site.get(f"/?token={site.token}", cookie=None)
    assert answer.status == 200
    assert re.search(r"; HttpOnly; Path=/; SameSite=strict$", answer.headers["set-cookie"])
    assert site.token not in answer.headers["set-cookie"]
    assert site.token.encode() not in answer.body
    for path in (f"/?token={site.token[:-1]}", "/?token=", "/", "/search?q=x", "/static/index.html"):
        refused = site.get(path, cookie=None)
        assert refused.status == 403, path
        assert b"gnoctl web --print" in refused.body
        assert "set-cookie" not in refused.headers
    assert site.get(f"/?token={site.token}", cookie=None, host="evil.example").status == 421
    assert site.machine.ok("web", "--print").strip() == site.address
    shell = site.get("/")
    assert shell.status == site.get("/doc/notes/sub/b.md").status == site.get("/ask").status == 200
    assert shell.body == site.get("/static/index.html").body
    assert site.get("/", if_none_match=shell.headers["etag"]).status == 304


def test_every_answer_has_the_headers(site: Site) -> None:
    for answer in (
        site.get("/"),
        site.get("/", cookie=None),
        site.get("/nowhere"),
        site.get("/api/document?ref=notes/deploy.md"),
        site.get("/api/document?ref=notes/none.md"),
        site.post("/api/rpc/index.status"),
        site.post("/api/rpc/index.status", origin="null"),
        site.send("PUT", "/"),
    ):
        assert {name: answer.headers.get(name.lower()) for name in HEADERS} == HEADERS
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "cache-control" in answer.headers


@pytest.mark.parametrize(
    ("status", "change"),
    [
        (421, {"host": "localhost:{port}"}),
        (403, {"origin": "http://localhost:{port}"}),
        (403, {"cookie": "gno-{port}=" + "0" * 64}),
        (403, {"sec_fetch_site": "cross-site"}),
        (415, {"content_type": "text/plain"}),
        (413, {"content_length": str(MAX_BODY_BYTES + 1)}),
        (200, {}),
    ],
)
def test_requests_of_others_are_refused(site: Site, status: int, change: dict[str, str | None]) -> None:
    """This checks one request of each kind; tests/web/test_security.py has the others."""
    port = site.host.partition(":")[2]
    headers = {name: value and value.replace("{port}", port) for name, value in change.items()}
    for path in ("/api/rpc/search.list", "/api/rpc/index.status"):
        assert site.post(path, **headers).status == status


def test_only_what_the_page_needs_can_be_called(site: Site) -> None:
    assert set(METHODS) > ALLOWED
    for method in ("daemon.shutdown", "index.restore", "index.backup", "models.clear", "models.pull", "rpc.discover"):
        answer = site.post(f"/api/rpc/{method}")
        assert (answer.status, answer.error["kind"]) == (404, "method_not_found")
    assert site.machine.json("daemon", "status", "--json")["pid"] == site.machine.pid()
    for path in ("/api/rpc/", "/api/rpc/a/b", "/api/rpc/..%2fask", "/api/nothing"):
        assert site.post(path).status == 404
    assert site.get("/api/rpc/index.status").status == 405
    assert site.get("/api/open").status == 405
    assert site.post("/api/events").status == site.post("/static/index.html").status == 405


@pytest.mark.parametrize("body", [b"{", b"[]", b"1", b'{"query": 1}', b'{"x": 1}', b"\xff", b"[" * 100_000])
def test_bad_parameters_are_refused(site: Site, body: bytes) -> None:
    for path in ("/api/rpc/search.lexical", "/api/ask", "/api/open"):
        answer = site.send("POST", path, body)
        assert (answer.status, answer.error["kind"]) == (400, "invalid_params")


def test_the_page_runs_no_command(site: Site) -> None:
    folder = site.machine.folder / "more"
    folder.mkdir()
    for method, params in (
        ("collection.add", {"path": str(folder), "name": "more", "update_command": f"touch {folder}/ran"}),
        ("collection.add", {"path": str(folder), "name": "more", "egress": "any"}),
        ("index.sync", {"update": True}),
    ):
        answer = site.post(f"/api/rpc/{method}", params)
        assert (answer.status, answer.error["kind"]) == (400, "invalid_params")
    assert site.post("/api/rpc/index.sync").status == 200
    assert not [*folder.iterdir()]


def test_the_page_downloads_models_of_presets_only(site: Site) -> None:
    model = PRESETS["mini"]["embed"]
    refused: list[dict[str, object]] = [
        {},
        {"models": []},
        {"models": ["embed"]},
        {"models": ["hf:evil/model"]},
        {"models": [model, "http://127.0.0.1:9/v1#m"]},
        {"models": [model], "force": True},
        {"models": [model], "accept": "0" * 64},
        {"models": [model], "network": {"HF_ENDPOINT": "http://127.0.0.1:9"}},
    ]
    for params in refused:
        answer = site.post("/api/pull", params)
        assert (answer.status, answer.error["kind"]) == (400, "invalid_params"), params


def test_bodies_without_an_end_are_refused(site: Site) -> None:
    head = (
        f"POST /api/rpc/search.list HTTP/1.1\r\nHost: {site.host}\r\nOrigin: {site.origin}\r\nCookie: {site.cookie}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    assert b" 413 " in site.raw(head + chunk * (MAX_BODY_BYTES // 0x10000 + 1)).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\nCookie: {cookie}\r\n\r\n",
        b"GET / HTTP/1.1\r\nCookie: {cookie}\r\n\r\n",
        b"GET / HTTP/1.0\r\nCookie: {cookie}\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nCookie: {cookie}\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: {host}\r\nCookie: " + b"a" * 100_000 + b"\r\n\r\n",
        b"POST /api/rpc/search.list HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nOrigin: {origin}\r\n"
        b"Content-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nOrigin: {origin}\r\nOrigin: http://evil.example\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"*1\r\n$4\r\nPING\r\n",
        b"\r\n\r\n\r\n",
    ],
)
def test_malformed_requests_reach_nothing(site: Site, head: bytes) -> None:
    for name in ("host", "cookie", "origin"):
        head = head.replace(b"{%s}" % name.encode(), getattr(site, name).encode())
    assert not re.match(rb"HTTP/1.. [23]", site.raw(head))
    assert site.get("/").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static/....//server.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/index.html%00.js",
        "/static/",
        "/static/.hidden",
        "/static/a\\..\\server.py",
        "/../../etc/passwd",
        "/gnoctl/web/server.py",
    ],
)
def test_only_the_pages_own_files_are_served(site: Site, path: str) -> None:
    assert site.get(path).status == 404


def test_nothing_outside_of_collections_is_shown(site: Site) -> None:
    outside = site.machine.folder / "secret.md"
    refs = [
        "/etc/passwd",
        "../secret.md",
        "notes/../../secret.md",
        "notes/..%2f..%2fsecret.md",
        "gno://notes/../secret.md",
        "gno://notes/%2e%2e/secret.md",
        "notes/out.md",
        "notes/out.pdf",
        str(outside),
        str(outside.with_suffix(".pdf")),
        f"file://{outside}",
        "",
        "x" * 9000,
        "\x00",
    ]
    for ref in refs:
        query = "?ref=" + "".join(f"%{byte:02x}" for byte in ref.encode())
        shown = (site.get(f"/api/document{query}"), site.get(f"/api/image{query}"))
        opened = (site.post("/api/open", {"ref": ref}), site.post("/api/folder", {"ref": ref}))
        for answer in (*shown, site.get(f"/api/raw{query}"), *opened):
            assert 400 <= answer.status < 500, ref
            assert b"zqxsecret" not in answer.body
            assert b"root:" not in answer.body


def test_a_link_that_takes_a_files_place_is_not_followed(site: Site) -> None:
    path = site.machine.notes / "swapped.pdf"
    path.write_bytes(pdf(["one"]))
    site.machine.ok("index")
    assert site.get("/api/image?ref=notes/swapped.pdf").status == 200
    path.unlink()
    path.symlink_to(site.machine.folder / "secret.pdf")
    assert site.get("/api/image?ref=notes/swapped.pdf").status in (404, 503)
    path.unlink()


def picture(site: Site, target: str, kind: str = "embed") -> Answer:
    query = urlencode({"ref": "notes/vault/boat.md", "target": target, "kind": kind})
    return site.get(f"/api/picture?{query}")


@pytest.mark.parametrize(
    ("target", "kind", "mime"),
    [
        ("oar.png", "embed", "png"),
        ("oar.png", "markdown", "png"),
        ("../vault/OAR.PNG", "markdown", "png"),
        ("deep.gif", "embed", "gif"),
        ("media/deep.gif", "embed", "gif"),
        ("deep.gif", "markdown", "gif"),  # Obsidian also writes the shortest path in Markdown
        ("media/my%20%C3%B6ar.png", "markdown", "png"),
        ("my o\u0308ar.png", "embed", "png"),
        ("straße.png", "embed", "png"),
        ("/vault/mast.svg", "embed", "svg+xml"),
        ("wide.png", "embed", "jpeg"),
    ],
)
def test_pictures_of_the_collection_are_shown(site: Site, target: str, kind: str, mime: str) -> None:
    answer = picture(site, target, kind)
    assert (answer.status, answer.headers["content-type"]) == (200, f"image/{mime}"), answer.body
    # If an SVG is opened as a page, it runs no script and loads nothing.
    assert answer.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"
    query = urlencode({"ref": "notes/vault/boat.md", "target": target, "kind": kind})
    assert site.get(f"/api/picture?{query}", if_none_match=answer.headers["etag"]).status == 304


@pytest.mark.parametrize(
    "target",
    [
        *("hidden.png", "../ignored/hidden.png", "linked.png", "secret.png", "../secret.png", "../../secret.png"),
        *("..%2f..%2fsecret.png", "/etc/passwd", "../../../../etc/passwd", "file:///etc/passwd", "//x/secret.png"),
        *("boat.md", "../report.pdf", "text.svg", "gone.png", "%", "_ar.png", "%.png", "\0", "..", ".", "media", "\\"),
        *("{folder}/secret.png", "https://x.org/a.png", "oar.png\0.svg", "\u202egnp.rao"),
    ],
)
@pytest.mark.parametrize("kind", ["embed", "markdown"])
def test_no_other_file_is_shown_as_a_picture(site: Site, target: str, kind: str) -> None:
    answer = picture(site, target.replace("{folder}", str(site.machine.folder)), kind)
    assert answer.status in (400, 404, 503), answer.status
    assert not [part for part in (b"zqxsecret", b"root:", b"PNG\r\n") if part in answer.body]


def test_a_picture_that_is_too_large_is_refused_with_the_reason(site: Site) -> None:
    answer = picture(site, "huge.png")
    assert answer.status == 503
    assert answer.error["message"] == "The image has 400 megapixels; at most 120 are read."
    assert picture(site, "x" * 5000).status == 400
    assert site.get("/api/picture?ref=notes/vault/boat.md").status == 400


def test_a_link_that_takes_a_pictures_place_is_not_followed(site: Site) -> None:
    assert picture(site, "swapped.png").status == 200
    path = site.machine.notes / "vault" / "swapped.png"
    path.unlink()
    path.symlink_to(site.machine.folder / "secret.png")
    answer = picture(site, "swapped.png")
    assert answer.status == 404
    message = answer.error["message"]  # the sync may have noticed it
    assert "symbolic link out of the collection's folder" in message or "no file" in message


def test_notes_that_embed_each_other_end(site: Site) -> None:
    html = site.get("/api/document?ref=notes/vault/boat.md").json["html"]
    assert html.count('<div class="embed"') == 3
    assert "Round and round." in html
    assert "Circle › Below</a></p><h2>Below</h2>" in html
    assert 'href="/doc/notes/vault/circle.md"' in html
    own = site.get("/api/document?ref=notes/vault/own.md").json["html"]
    assert own.count("zqxpart") == 3  # the section itself and its embeddings elsewhere, but not inside itself
    assert re.search(r"<summary>Notes <span>3</span></summary>.*/doc/notes/vault/circle.md", html)
    assert "Notes <span>3</span>" in site.get("/api/document?ref=notes/vault/all.base").json["html"]


def test_a_document_as_it_is_written(site: Site) -> None:
    answer = site.get("/api/raw?ref=notes/deploy.md")
    assert answer.body.decode() == (site.machine.notes / "deploy.md").read_text()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_browser_finds_the_search_engine(site: Site) -> None:
    described = ElementTree.fromstring(site.get("/opensearch.xml").body)
    (url,) = described.findall("{*}Url")
    assert url.get("template") == f"{site.origin}/search?q={{searchTerms}}"
    assert b'href="/opensearch.xml"' in site.get("/").body


def test_documents_and_their_pages(site: Site) -> None:
    answer = site.get("/api/document?ref=notes/deploy.md:3")
    found = answer.json
    assert (found["kind"], found["line"], found["document"]["title"]) == ("markdown", 3, "Deployment")
    assert [start for start, _ in found["parts"]] == [1]
    assert site.get("/api/document?ref=notes/deploy.md&from=1&part").json["parts"] == []
    assert 'href="/doc/notes/sub/b.md"' in found["html"]
    assert 'src="/api/picture?ref=gno%3A%2F%2Fnotes%2Fdeploy.md&amp;target=photo.png' in found["html"]
    assert site.get("/api/document?ref=notes/deploy.md:3", if_none_match=answer.headers["etag"]).status == 304
    assert "script" not in site.get("/api/document?ref=notes/sub/b.md").json["html"]

    report = site.get("/api/document?ref=notes/report.pdf").json
    assert (report["kind"], report["pages"], report["page_lines"], report["html"]) == ("pages", 2, [1, 3], "")
    assert "zqx002" in site.get("/api/document?ref=notes/report.pdf&from=3").json["html"]
    page = site.get("/api/image?ref=notes/report.pdf&page=2&width=306")
    assert (page.status, page.headers["content-type"], page.body[:2]) == (200, "image/jpeg", b"\xff\xd8")
    assert site.get("/api/image?ref=notes/report.pdf%23page=2&width=306").headers["etag"] == page.headers["etag"]
    assert (
        site.get("/api/image?ref=notes/report.pdf&page=2&width=306", if_none_match=page.headers["etag"]).status == 304
    )
    boxes = site.post("/api/rpc/document.boxes", {"ref": "notes/report.pdf:p2", "query": "zqx002"}).json
    assert [box["text"] for box in boxes["boxes"]] == ["zqx002"]
    drawn = site.machine.call("document.image", ref="notes/report.pdf", page=2, width_px=306)
    assert base64.b64decode(drawn["data"]) == page.body
    for wrong in ("page=0", "page=x", "width=1", "width=99999", "page=1e9"):
        assert site.get(f"/api/image?ref=notes/report.pdf&{wrong}").status == 400
    assert site.get("/api/document?ref=notes/deploy.md&from=0").status == 400


def test_results_are_the_daemons(site: Site) -> None:
    found = site.post("/api/rpc/search.lexical", {"query": "permit"}).json
    expected = site.machine.call("search.lexical", query="permit")
    assert found | {"took_ms": 0} == expected | {"took_ms": 0}
    answer = site.post("/api/rpc/search.lexical", {"query": "permit", "collections": ["none"]})
    assert (answer.status, answer.error["kind"]) == (404, "collection_not_found")
    assert (
        answer.error["message"]
        == site.machine.answer("search.lexical", query="permit", collections=["none"])["error"]["message"]
    )


def test_an_answer_comes_after_its_quotes(site: Site) -> None:
    answer = site.post("/api/ask", {"question": "When is the permit due?", "generate": False})
    lines = [json.loads(line) for line in answer.body.splitlines()]
    quotes = next(line["progress"]["quotes"] for line in lines if line.get("progress", {}).get("quotes"))
    assert "4 May" in quotes[0]["text"]
    assert lines[-1]["result"]["answered"]
    failed = site.post("/api/ask", {"question": "When?", "collections": ["none"]})
    assert json.loads(failed.body.splitlines()[-1])["error"]["kind"] == "collection_not_found"


def test_a_document_opens_in_the_users_program(site: Site) -> None:
    report, opened = site.machine.notes / "report.pdf", site.machine.folder / "opened"
    with site.machine.config.open("a") as config:
        config.write(f"\nviewers:\n  - files: [PDF]\n    command: [{site.viewer}, '{{page}}', '{{path}}']\n")
    ref = {"ref": "notes/report.pdf:p2"}
    wait_until(lambda: site.post("/api/rpc/document.locate", ref).json["viewer"])
    answer = site.post("/api/open", ref)
    assert (answer.status, answer.json) == (200, {"uri": "gno://notes/report.pdf"})
    wait_until(lambda: opened.exists() and opened.read_text() == f"2 {report}\n")
    answer = site.post("/api/open", {"ref": "notes/deploy.md:3"})
    assert (answer.status, "only a terminal program" in answer.error["message"]) == (409, True)


def test_the_page_survives_the_daemon(site: Site) -> None:
    events = Events(site)
    with contextlib.closing(events):
        assert events.next("daemon")["available"]
        assert [each["name"] for each in events.next("state")["collections"]] == ["notes"]
        (site.machine.notes / "new.md").write_text("# New zqxnew\n")
        while not [each for each in events.next("changed")["indexed"] if each["path"] == "new.md"]:
            pass
        os.kill(site.machine.pid(), signal.SIGKILL)
        lost = events.next("daemon")
        assert (lost["available"], "lost" in lost["message"]) == (False, True)
        while not events.next("daemon")["available"]:
            pass
        assert events.next("state")["freshness"]
    wait_until(lambda: site.post("/api/rpc/search.lexical", {"query": "zqxnew"}).json.get("total") == 1)


def test_a_missing_daemon_is_an_answer(site: Site) -> None:
    with contextlib.ExitStack() as stack:
        stack.callback(site.machine.ok, "daemon", "start")
        site.machine.ok("daemon", "stop")
        config = site.machine.config.read_text()
        stack.callback(site.machine.config.write_text, config)
        site.machine.config.write_text(f"{config}\ndaemon:\n  autostart: false\n")
        answer = site.post("/api/rpc/index.status")
        assert (answer.status, answer.error["kind"]) == (503, "daemon_unavailable")
        assert site.get("/").status == 200


def test_another_user_is_refused(site: Site) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")

    def status() -> int:
        connection = site.connection()
        with contextlib.closing(connection):
            connection.connect()  # the socket belongs to the current user
            connection.request("GET", "/", headers={"Cookie": site.cookie})
            return connection.getresponse().status

    assert status() == 200
    os.seteuid(65534)
    try:
        with pytest.raises(ConnectionError):
            status()
    finally:
        os.seteuid(0)


def test_ctrl_c_ends_it_at_once(site: Site) -> None:
    """This test is the last, because it ends the server. A stream is open meanwhile."""
    other = Site(site.machine)  # the first server still has the lock, so this one only prints its address
    assert other.address == site.address
    other.end()
    events = Events(site)
    with contextlib.closing(events):
        events.next("state")
        site.process.send_signal(signal.SIGINT)
        site.process.wait(60)
    with pytest.raises(ConnectionRefusedError):
        site.get("/")
    done = site.machine.run("web", "--print")
    assert (done.returncode, done.stdout) == (2, "")
    assert "run `gnoctl web`" in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port} cannot be used" in site.machine.run("web", "--no-open", "--port", port).stderr
