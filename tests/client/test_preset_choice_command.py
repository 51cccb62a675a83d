"""`gnoctl models use auto` and `gnoctl init` against the fake daemon: what is printed, and what is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gnod.protocol import models as m
from gnod.protocol.collections import CollectionAddParams, CollectionAddResult
from gnod.protocol.index import IndexInitResult, IndexSyncResult
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import collection

EMBED, ANSWER = "hf:org/embed", "hf:org/answer/a.gguf"


def model(uri: str = EMBED, role: str = "embed", **changes: Any) -> m.PresetModel:
    fields = {"installed": False, "download_bytes": 92_000_000, "size_is_known": True} | changes
    return m.PresetModel(uri=uri, name=uri.rpartition("/")[2], roles=[role], **fields)


RECOMMENDED = m.ModelsRecommendResult(
    preset="small",
    models=[model(), model(ANSWER, "answer", download_bytes=1_100_000_000, size_is_known=False)],
    better=[m.RejectedPreset(preset="quality", reason="card"), m.RejectedPreset(preset="slim", reason="time")],
    languages=["de", "en"],
    scripts=[],
    documents=1200,
    chunks=9000,
    tokens=3_000_000,
    cores=2,
    free_memory_bytes=6_100_000_000,
    gpus=[],
    on_gpu=False,
    tokens_per_s=5000.0,
    embed_s=600.0,
)


@pytest.fixture(autouse=True)
def answers(daemon: FakeDaemon) -> None:
    daemon.answers["models.recommend"] = RECOMMENDED
    daemon.answers["models.use"] = m.ModelsUseResult(preset="small", previous="slim", config_file="/c", missing=[])
    pulled = m.PulledModel(uri=EMBED, path="/m", bytes=92_000_000, fetched=True, took_ms=2500)
    daemon.answers["models.pull"] = m.ModelsPullResult(models=[pulled])


def test_two_lines_say_why_and_how_long(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    outcome = gnoctl("models", "use", "auto")
    assert outcome.status == 0
    assert outcome.out.splitlines() == [
        "models: small, for 1,200 documents (de, en) on 2 cores, 6.1 GB of free memory, no graphics card; slim would "
        "take over an hour to embed them",
        "to download: embed 92.0 MB; for answers, later: a.gguf ~1.1 GB; embedding 9,000 chunks takes about 10 min "
        "(5,000 tokens/s measured here)",
    ]
    # Nobody agreed to a download.
    assert outcome.err == "Keyword search works now; `gnoctl models pull embed` downloads the rest\n"
    assert json.loads(gnoctl("models", "use", "auto", "--json").out)["preset"] == "small"
    assert {params.preset for _, params in daemon.calls if isinstance(params, m.ModelsUseParams)} == {"small"}
    assert "models.pull" not in [method for method, _ in daemon.calls]


def test_a_busy_machine_is_named(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["models.recommend"] = replace(RECOMMENDED, load=9.04, embed_s=2700.0)
    took = "embedding 9,000 chunks takes about 45 min (5,000 tokens/s measured here; the machine is busy, load 9.0)"
    assert gnoctl("models", "use", "auto").out.splitlines()[1].endswith(took)


def test_yes_downloads_what_search_needs(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    outcome = gnoctl("models", "use", "auto", "--yes")
    assert daemon.asked(m.ModelsPullParams).models == [EMBED]
    assert outcome.out.endswith(f"downloaded {EMBED}: 92.0 MB · 2.5 s\n")
    assert outcome.err == ""


def test_what_cannot_be_downloaded_is_told(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["models.recommend"] = replace(
        RECOMMENDED,
        models=[model(size_problem="no connection to the hub")],
        better=[m.RejectedPreset(preset="quality", reason="download", problem="no connection to the hub")],
    )
    outcome = gnoctl("models", "use", "auto", "--yes")
    assert outcome.err.splitlines() == [
        "quality would be better: later, run `gnoctl models use auto` (no connection to the hub)",
        "Not everything can be downloaded now: no connection to the hub",
        "Keyword search works now; `gnoctl models pull embed` downloads the rest",
    ]


def test_other_machines(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    card = m.GraphicsCard(name="A card", total_bytes=12_000_000_000, free_bytes=11_000_000_000)
    unmeasured = replace(RECOMMENDED, tokens_per_s=None, not_measured="it crashed", languages=[])
    daemon.answers["models.recommend"] = replace(unmeasured, gpus=[card], better=[], models=[model(installed=True)])
    lines = gnoctl("models", "use", "auto").out.splitlines()
    assert lines[0].endswith("(no known language) on 2 cores, 6.1 GB of free memory, A card with 11.0 GB")
    assert lines[1] == "its models for search are installed; its speed could not be measured (it crashed)"

    daemon.answers["models.recommend"] = replace(
        RECOMMENDED, preset=None, models=[], languages=["dv"], scripts=["THAANA"]
    )
    outcome = gnoctl("models", "use", "auto")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == "No preset reads these documents (dv, thaana): keyword search finds them\n"


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
        return CollectionAddResult(collection=collection(path=params.path), config_file="/c")

    daemon.answers["collection.add"] = added
    daemon.answers["index.sync"] = IndexSyncResult(collections=[], took_ms=1.0)
    assert initialised() == ["models.recommend", "models.use"]
    assert initialised("--yes") == ["models.recommend", "models.use", "models.pull"]
    assert initialised("--no-index") == []
    assert initialised("--preset", "none") == ["models.use"]
    assert initialised("--preset", "mini") == ["models.use"]
    assert initialised(has_preset=True) == []
    assert initialised("--preset", "auto", has_preset=True) == ["models.recommend", "models.use"]
    assert gnoctl("init", str(tmp_path), "--preset", "tiny").status == 1
