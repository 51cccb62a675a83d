"""`gnoctl models …` against the fake daemon: the requests and the output."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from gnoctl.printing.progress import CallProgress
from gnod.protocol import models as m
from gnod.protocol.base import ProgressValue
from tests.client.conftest import Gnoctl, Typed
from tests.client.fake_daemon import FakeDaemon

EMBED = "hf:org/repo/embed.gguf"
OLD = "hf:org/repo/old.gguf"


def model(uri: str = EMBED, **changes: Any) -> m.ModelInfo:
    uses = [m.ModelUse(role="embed"), m.ModelUse(role="rerank", collection="wiki")]
    fields: dict[str, Any] = {"name": uri.rpartition("/")[2].removesuffix(".gguf"), "uses": uses, "installed": False}
    return m.ModelInfo(uri=uri, **fields | changes)


def listed(*models: m.ModelInfo) -> m.ModelsListResult:
    presets = [
        m.ModelPreset(name="mini", active=False, models={"embed": EMBED, "rerank": None}, memory_bytes=4 * 10**8),
        m.ModelPreset(name="slim", active=True, models={"embed": EMBED, "rerank": OLD}, memory_bytes=4 * 10**9),
    ]
    return m.ModelsListResult(
        preset="slim", presets=presets, models=list(models), models_dir="/cache/models", total_bytes=12_000_000
    )


def test_the_list(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["models.list"] = listed(
        model(),
        model("hf:org/repo/b.gguf", installed=True, bytes=12_000_000, uses=[m.ModelUse(role="answer")]),
        model("hf:org/repo/c.gguf", partial_bytes=5_000),
        model("hf:org/repo/d.gguf", partial_bytes=5_000, fetching=True),
        model(OLD, uses=[], installed=True, bytes=1000),
    )
    outcome = gnoctl("models", "list")
    assert outcome.status == 0
    assert outcome.out.splitlines() == [
        "  mini                400.0 MB  embed",
        "* slim                  4.0 GB  embed, rerank",
        "",
        "used for               installed    size     model  address",
        "embed, rerank of wiki  no           -        embed  hf:org/repo/embed.gguf",
        "answer                 yes          12.0 MB  b      hf:org/repo/b.gguf",
        "embed, rerank of wiki  partly       5.0 kB   c      hf:org/repo/c.gguf",
        "embed, rerank of wiki  downloading  5.0 kB   d      hf:org/repo/d.gguf",
        "nothing                yes          1.0 kB   old    hf:org/repo/old.gguf",
        "",
        "12.0 MB in /cache/models",
    ]
    advice = "run `gnoctl models pull`, or `gnoctl models pull embed` for one"
    assert outcome.err == f"Some models are not installed: {advice}\n"
    assert json.loads(gnoctl("models", "list", "--json").out)["preset"] == "slim"
    daemon.answers["models.list"] = listed(model(installed=True, bytes=1))
    assert gnoctl("models", "list").err == ""


def test_use_says_which_models_stay_in_force(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    server = "http://10.1.2.3:8080/v1#m"
    in_force = [
        m.RoleInForce(role="embed", uri=server, remote=True),
        m.RoleInForce(role="rerank", uri=OLD, collection="wiki"),
    ]
    daemon.answers["models.use"] = m.ModelsUseResult(
        preset="none", previous="slim", config_file="/config/index.yml", missing=[], in_force=in_force
    )
    outcome = gnoctl("models", "use", "none")
    assert outcome.out == "none is now the active preset (before: slim)\n"
    assert outcome.err.splitlines() == [
        f"`models.embed` in index.yml stays in force: {server}, a server that gets texts and queries."
        " To end that, remove it there, or write `embed: none`",
        f"`models` of the collection wiki for rerank in index.yml stays in force: {OLD}. To end that, remove it there",
    ]
    assert not gnoctl("models", "use", "none", "--quiet").err


def test_use_says_what_is_to_be_fetched(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["models.use"] = m.ModelsUseResult(
        preset="mini", previous="slim", config_file="/c/index.yml", missing=[EMBED]
    )
    outcome = gnoctl("models", "use", "mini")
    assert daemon.asked(m.ModelsUseParams).preset == "mini"
    assert outcome.out == "mini is now the active preset (before: slim)\n"
    assert outcome.err.startswith("1 model not installed: run `gnoctl models pull` (")
    assert outcome.err.endswith(f":\n  {EMBED}\n")


def test_pull_passes_on_the_network_of_this_terminal_and_nothing_else(
    daemon: FakeDaemon, gnoctl: Gnoctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in m.NETWORK_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    for name, value in {"HF_TOKEN": "hf_x", "https_proxy": "http://p", "HF_ENDPOINT": "", "PIP_TARGET": "/"}.items():
        monkeypatch.setenv(name, value)
    pulled = [
        m.PulledModel(uri=EMBED, path="/m", bytes=12_000_000, fetched=True, took_ms=2500),
        m.PulledModel(uri=OLD, path="/m", bytes=1, fetched=False, took_ms=1),
    ]
    daemon.answers["models.pull"] = m.ModelsPullResult(models=pulled)
    outcome = gnoctl("models", "pull", "embed", OLD, "--force")
    asked = daemon.asked(m.ModelsPullParams)
    assert (asked.models, asked.force) == (["embed", OLD], True)
    assert asked.network == {"HF_TOKEN": "hf_x", "https_proxy": "http://p"}
    assert outcome.out == f"downloaded {EMBED}: 12.0 MB · 2.5 s\ninstalled already: {OLD}\n"


def test_clear_needs_models_and_a_confirmation(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    cleared = [m.ClearedModel(uri=EMBED, freed_bytes=2_000_000), m.ClearedModel(uri=OLD, freed_bytes=0)]
    daemon.answers["models.clear"] = m.ModelsClearResult(models=cleared, freed_bytes=2_000_000, kept=["file:/a"])
    assert gnoctl("models", "clear").status == 2
    assert gnoctl("models", "clear", "--all", "embed").status == 2
    assert "add --yes" in gnoctl("models", "clear", "embed", stdin=io.StringIO()).err
    assert not daemon.calls
    outcome = gnoctl("models", "clear", "embed", OLD, "file:/a", "--yes")
    assert outcome.out == f"deleted {EMBED}\nnot installed: {OLD}\nfreed 2.0 MB\n"
    assert outcome.err == "kept file:/a: the file is yours\n"

    refused = gnoctl("models", "clear", "--all", stdin=Typed("n\n"))
    assert (refused.status, len(daemon.calls)) == (1, 1)
    assert refused.err == "Delete all models from this machine? [y/N] Nothing was deleted\n"
    assert gnoctl("models", "clear", "--all", stdin=Typed("y\n")).status == 0
    (_, last) = daemon.calls[-1]
    assert isinstance(last, m.ModelsClearParams)
    assert last.everything


def test_path(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["models.path"] = m.ModelsPathResult(path="/cache/models/a/model.gguf", uri=EMBED)
    assert gnoctl("models", "path", "embed") == (0, "/cache/models/a/model.gguf\n", "")
    assert daemon.asked(m.ModelsPathParams).model == "embed"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (ProgressValue(stage="download", done=5_000_000, total=98_400_000, label="a b", unit="bytes"),
         "download a b: 5.0 MB of 98.4 MB"),
        (ProgressValue(stage="download", done=5_000_000, label="a", unit="bytes"), "download a: 5.0 MB"),
        (ProgressValue(stage="convert", done=0, label="a", unit="bytes"), "convert a"),
        (ProgressValue(stage="convert", done=1200, total=4000, label="x.md"), "convert: 1,200 of 4,000, x.md"),
    ],
)  # fmt: skip
def test_bytes_are_reported_in_megabytes(
    value: ProgressValue, line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnoctl.printing.progress.LINE_EVERY_S", 0.0)
    with CallProgress(quiet=False) as progress:
        progress(value)
    assert capsys.readouterr().err == f"{line}\n"
