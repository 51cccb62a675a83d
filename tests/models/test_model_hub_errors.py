"""Every network error, and every refusal of the hub, has a message without secrets."""

from __future__ import annotations

import inspect

import httpx2 as httpx
import pytest

from gnod.config.model_uris import HubFile, parse
from gnod.errors import DownloadFailed, GnoError, ModelNotFound
from gnod.models.supply.fetch import transfer
from gnod.models.supply.fetch.hub import Hub
from gnod.models.supply.fetch.staging import Expected

SECRET = "https://user:secret@host/x?sig=secret"
KINDS = [kind for _, kind in inspect.getmembers(httpx, inspect.isclass) if issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_exception_of_the_client_has_words_without_secrets(kind: type[Exception]) -> None:
    error = kind.__new__(kind)
    error.args = (SECRET,)
    said = transfer.words(error, "host", "HF_ENDPOINT")
    assert "secret" not in said
    assert said.startswith(("host ", "'host' ", "no connection to host", "the proxy", "the connection to host")), said


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"), "SSL_CERT_FILE, PIP_CERT, REQUESTS_CA_BUNDLE"),
        (httpx.ConnectError("refused"), "set HF_ENDPOINT to a mirror"),
        (httpx.ReadTimeout("slow"), "stopped answering"),
        (httpx.ReadError("reset"), " broke: "),
        (httpx.ProxyError("502"), "does not connect"),
        (httpx.ProxyError("407 Proxy Authentication Required"), "needs a name and a password"),
    ],
)
def test_connections_that_fail(error: Exception, says: str) -> None:
    assert says in transfer.words(error, "host", "HF_ENDPOINT")


@pytest.mark.parametrize(
    ("status", "code", "kind", "says"),
    [
        (403, "GatedRepo", DownloadFailed, "accept its terms"),
        (401, "RepoNotFound", ModelNotFound, "or it is private"),
        (404, "EntryNotFound", ModelNotFound, "org/repo has no such file"),
        (404, "RevisionNotFound", ModelNotFound, "has no hf:org/repo/a.gguf"),
        (401, "", DownloadFailed, "set HF_TOKEN"),
        (407, "", DownloadFailed, "proxy needs a name"),
        (418, "", DownloadFailed, "refused with status 418"),
        (500, "", DownloadFailed, "refused with status 500; try again later"),
    ],
)
def test_refusals_of_the_hub(status: int, code: str, kind: type[GnoError], says: str) -> None:
    uri = parse("hf:org/repo/a.gguf")
    assert isinstance(uri, HubFile)
    response = httpx.Response(status, headers={"X-Error-Code": code}, request=httpx.Request("GET", SECRET))
    error = Hub(uri, Expected()).refusal(response, str(uri))
    assert type(error) is kind
    assert says in error.message
    assert "secret" not in f"{error.message} {error.details}"
