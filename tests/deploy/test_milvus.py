"""The files for a Milvus server have the form that their programs expect, and let in only who has a password.

`compose-spec.json` is the schema of the Compose Specification (Apache License 2.0, beside it), unchanged. The chart of
Milvus has none, so `milvus-values.schema.json` lists the names that it documents.
"""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

HERE = Path(__file__).parent
DEPLOY = HERE.parents[1] / "deploy" / "milvus"


def read(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(StringIO(text))


COMPOSE = read((DEPLOY / "compose.yml").read_text())
VALUES = read((DEPLOY / "values.yaml").read_text())


def schema(name: str) -> Any:
    return json.loads((HERE / name).read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("instance", "name"),
    [
        pytest.param(COMPOSE, "compose-spec.json", id="compose"),
        pytest.param(VALUES, "milvus-values.schema.json", id="values"),
    ],
)
def test_the_schema(instance: Any, name: str) -> None:
    jsonschema.validate(instance, schema(name), cls=jsonschema.Draft202012Validator)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**instance, "srvices": {}}, schema(name), cls=jsonschema.Draft202012Validator)


def test_compose_is_complete() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
        assert {mount.partition(":")[0] for mount in service["volumes"]} <= set(COMPOSE["volumes"])
        assert not service["image"].endswith(":latest")


def test_only_milvus_is_reached_from_outside() -> None:
    published = {name: service["ports"] for name, service in COMPOSE["services"].items() if "ports" in service}
    assert published == {"milvus": ["${MILVUS_BIND:-127.0.0.1}:19530:19530"]}


def test_passwords_and_tls_are_on() -> None:
    environment = COMPOSE["services"]["milvus"]["environment"]
    assert environment["COMMON_SECURITY_AUTHORIZATIONENABLED"] == "true"
    assert environment["COMMON_SECURITY_TLSMODE"] == "1"
    config = read(VALUES["extraConfigFiles"]["user.yaml"])
    assert config["common"]["security"] == {"authorizationEnabled": True, "tlsMode": 1}
    mounted = VALUES["proxy"]["volumeMounts"][0]["mountPath"]
    assert all(path.startswith(f"{mounted}/") for path in config["tls"].values())


def test_no_password_is_in_the_files() -> None:
    """In values.yaml, the schema forbids them."""
    for service in COMPOSE["services"].values():
        secrets = {name: value for name, value in service["environment"].items() if re.search("PASSWORD|SECRET", name)}
        assert all(re.fullmatch(r"\$\{\w+:\?.+\}", value) for value in secrets.values()), secrets
