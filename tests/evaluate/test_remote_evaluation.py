"""A measurement with models of a server: its texts go only as far as `--egress` allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.errors import EgressForbidden
from gnod.evaluate.models import EvaluationModels
from gnod.models.files import ModelFiles
from tests.models.endpoint_imitation import EndpointImitation


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
