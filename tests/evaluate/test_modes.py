"""Which modes run with which models, what is refused or left out with a note, and that texts go to a server only as far
as `--egress` allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from gnoctl.commands import bench
from gnod.config.model import Config, ModelsConfig
from gnod.errors import EgressForbidden, UsageError
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.modes import MODES, ModelsForModes, choose
from gnod.models.files import ModelFiles
from tests.models.endpoint_imitation import EndpointImitation

EMBEDS, RERANKS = "file:/models/embeds.gguf", "file:/models/reranks.gguf"


def _choose(folder: Path, named: Sequence[str] = (), **given: str) -> ModelsForModes:
    models = {role: given.get(role) for role in ("embed", "expand", "rerank")}
    return choose(named, models, Config(), ModelFiles(folder))


def test_without_a_model_words_remain(tmp_path: Path) -> None:
    found = _choose(tmp_path)
    assert (found.modes, found.models) == (["keyword"], {})
    [note] = found.notes
    assert note.startswith("only keyword: the model ")
    assert note.endswith(" is not installed: run `gnoctl models pull embed`")


def test_what_is_named_is_taken(tmp_path: Path) -> None:
    found = _choose(tmp_path, embed=EMBEDS, rerank=RERANKS)
    assert found.modes == ["keyword", "vector", "hybrid"]
    assert found.models == {"embed": EMBEDS, "rerank": RERANKS}


def test_models_that_no_mode_uses_are_not_loaded(tmp_path: Path) -> None:
    assert _choose(tmp_path, ["keyword"], embed=EMBEDS, rerank=RERANKS) == ModelsForModes(["keyword"], {}, [])
    assert _choose(tmp_path, ["vector"], embed=EMBEDS, rerank=RERANKS).models == {"embed": EMBEDS}


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    config = Config(models=ModelsConfig(preset="none", rerank=RERANKS))
    given = {"embed": EMBEDS, "expand": None, "rerank": None}
    assert choose([], given, config, ModelFiles(tmp_path)).notes == [
        f"without reranking: the model {RERANKS} is not installed: run `gnoctl models pull rerank`"
    ]
    with pytest.raises(UsageError, match="no model for embedding is configured: name one with --model URI"):
        choose(["hybrid"], given | {"embed": None}, config, ModelFiles(tmp_path))


def test_gnoctl_offers_every_mode() -> None:
    assert list(get_args(bench.Mode)) == list(MODES)


def test_a_server_on_this_machine(tmp_path: Path) -> None:
    with EndpointImitation() as server, EvaluationModels(server.uri, ModelFiles(tmp_path), rerank=server.uri) as models:
        models.check()
    assert {each.path for each in server.asked} == {"/v1/embeddings", "/v1/rerank"}


def test_a_server_elsewhere_gets_nothing(tmp_path: Path) -> None:
    with (
        EvaluationModels("http://10.1.2.3:8080/v1#far", ModelFiles(tmp_path)) as models,
        pytest.raises(EgressForbidden, match=r"`egress: local` of this measurement \(--egress\) keeps texts from"),
    ):
        models.check()
