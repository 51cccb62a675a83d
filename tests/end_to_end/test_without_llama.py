"""gnod without llama-cpp-python, as pipx installs it on machines without a compiler."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnod import extras
from tests.machine import Machine

pytestmark = pytest.mark.slow

_GGUF = "hf:org/repo/model.gguf"


@pytest.fixture(scope="module")
def bare(minilm_onnx: Path, measured_models: Path) -> Iterator[Machine]:
    """A machine with notes and an embedding model, whose Python cannot import llama_cpp. All tests share it, because
    each program starts a new Python."""
    with Machine.in_temporary_folder() as machine:
        python = machine.folder / "python"
        python.mkdir()
        (python / "sitecustomize.py").write_text("import sys\nsys.modules['llama_cpp'] = None\n")
        machine.forks = False
        machine.environment["PYTHONPATH"] = str(python)
        machine.place(measured_models)
        machine.write(boats_md="The harbour master moors the ferry.\n", bread_md="Knead the dough and let it rise.\n")
        machine.configure(embed=minilm_onnx)
        machine.ok("index")
        machine.ok("embed")
        yield machine


def test_search_by_meaning_needs_no_llama_cpp(bare: Machine) -> None:
    found = bare.json("vsearch", "a ship in port")
    assert found["hits"][0]["path"] == "boats.md"
    assert "llama-cpp-python: not installed" in bare.run("doctor").stdout.replace("  ", " ")


def test_what_needs_it_names_the_command_before_a_download(bare: Machine) -> None:
    pulled = bare.run("models", "pull", _GGUF)
    assert pulled.returncode == 2
    assert extras.command("llama") in pulled.stderr
    bare.config.write_text(bare.config.read_text().replace("answer: none", f'answer: "{_GGUF}"'))
    assert extras.command("llama") in bare.run("ask", "where is the ferry").stdout


def test_presets_that_need_it_are_not_recommended(bare: Machine) -> None:
    recommended = bare.call("models.recommend")
    assert recommended["preset"] in {"mini", "mini-multilingual", "small", "small-multilingual"}
    assert "package" in {each["reason"] for each in recommended["better"]}


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/mara/.local/share/pipx/venvs/gnod", "pipx inject gnod "),
        ("/home/mara/.local/share/uv/tools/gnod", "uv pip install --python /home/mara/.local/share/uv/tools/gnod "),
        ("/home/mara/.venv", f"{sys.executable} -m pip install "),
        ("/usr/lib/gnod", f"sudo {sys.executable} -m pip install "),
    ],
)
def test_the_command_fits_the_installation(prefix: str, command: str) -> None:
    assert extras.command("llama", prefix).startswith(command)
    assert "llama-cpp-python" in extras.command("llama", prefix)
