"""The model cache: installing, finding and removing models, and checking files."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gnod.errors import GnoError, ModelCorrupt, StorageFailed
from gnod.models.embedding_profiles import Profile
from gnod.models.files import GGUF, RECORD, Installed, ModelFiles
from gnod.models.run.gguf_header import parameters
from gnod.models.supply.fetch import staging
from gnod.models.supply.fetch.staging import check_model, describe, sha256_of
from tests.models.hub_imitation import small_model

URI = "hf:org/repo/model.gguf"


def install(files: ModelFiles, uri: str = URI) -> Installed:
    staged = files.partial_for(uri) / "download"
    staged.parent.mkdir(parents=True)
    small_model(staged)
    return files.install(uri, [staged], sha256_of(staged))


def test_nothing_is_there_before(files: ModelFiles) -> None:
    assert files.find(URI) is None
    assert files.all() == []
    assert files.remove(URI) == 0
    assert files.remove_all() == 0
    assert files.partial_bytes(URI) == 0


def test_installed_found_and_removed(files: ModelFiles) -> None:
    installed = install(files)
    other = install(files, "hf:org/repo:Q4_0")
    assert files.find(URI) == installed
    assert files.all() == [installed, other]
    assert files.remove(URI) > installed.bytes
    assert files.find(URI) is None
    assert files.all() == [other]


def test_an_encoder_has_several_files_and_replaces_another_model(files: ModelFiles, tmp_path: Path) -> None:
    old = install(files).path
    staged = [tmp_path / name for name in ("model.onnx", "tokenizer.json", "encoder.json")]
    for path in staged:
        path.write_bytes(b"x" * 10)
    installed = files.install(URI, staged, "0" * 64)
    assert {path.name for path in installed.path.parent.iterdir()} == {*(path.name for path in staged), RECORD}
    assert not old.exists()
    assert files.find(URI) == installed
    # Such a folder, copied from another machine, is usable in place.
    assert files.find(f"file:{installed.path}") is not None


def test_what_a_repository_states_is_kept(files: ModelFiles) -> None:
    profile = Profile("find: {text}", "{title}\n{text}", "{text}", window=512, piece=600)
    staged = files.partial_for("hf:org/repo") / "download"
    staged.parent.mkdir(parents=True)
    small_model(staged)
    installed = files.install("hf:org/repo", [staged], "0" * 64, profile=profile)
    assert files.find("hf:org/repo") == installed
    assert installed.profile == profile


def test_clearing_takes_unfinished_and_damaged_ones_too(files: ModelFiles) -> None:
    path = install(files).path
    path.with_name(RECORD).unlink()
    unfinished = files.partial_for("hf:org/repo:Q8_0") / "download"
    unfinished.parent.mkdir(parents=True)
    unfinished.write_bytes(b"x" * 1000)
    assert files.partial_bytes("hf:org/repo:Q8_0") == 1000
    total = path.stat().st_size + 1000
    assert files.total_bytes() == total
    assert files.remove_all() == total
    assert list(files.folder.iterdir()) == []


def _shorter(folder: Path) -> None:
    os.truncate(folder / GGUF, 1000)


def _other_magic(folder: Path) -> None:
    data = (folder / GGUF).read_bytes()
    (folder / GGUF).write_bytes(b"HTML" + data[4:])


def _no_model(folder: Path) -> None:
    (folder / GGUF).unlink()


def _model_is_a_folder(folder: Path) -> None:
    (folder / GGUF).unlink()
    (folder / GGUF).mkdir()


def _no_record(folder: Path) -> None:
    (folder / RECORD).unlink()


def _broken_record(folder: Path) -> None:
    (folder / RECORD).write_bytes(b'{"uri": "hf:org\xff')


def _another_models_record(folder: Path) -> None:
    record = (folder / RECORD).read_text()
    (folder / RECORD).write_text(record.replace("org/repo", "org/other"))


@pytest.mark.parametrize(
    "damage",
    [_shorter, _other_magic, _no_model, _model_is_a_folder, _no_record, _broken_record, _another_models_record],
)
def test_what_is_not_whole_is_not_found(damage: Callable[[Path], None], files: ModelFiles) -> None:
    damage(install(files).path.parent)
    assert files.find(URI) is None
    assert files.all() == []
    files.remove(URI)
    assert files.find(URI) is None
    assert install(files) == files.find(URI)


def test_installing_again_replaces_and_open_files_stay(files: ModelFiles) -> None:
    first = install(files)
    with first.path.open("rb") as reading:
        staged = files.partial_for(URI) / "download"
        data = small_model(staged, size=50_000)
        second = files.install(URI, [staged], sha256_of(staged))
        assert len(reading.read()) == first.bytes
    assert second.path.read_bytes() == data
    assert files.find(URI) == second


def test_a_file_of_the_users_is_used_where_it_is(files: ModelFiles, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    uri = f"file:{path}"
    assert files.find(uri) is None
    data = small_model(path)
    found = files.find(uri)
    assert found
    assert (found.path, found.bytes, found.sha256) == (path, len(data), "")
    assert files.remove(uri) == 0
    assert path.exists()
    assert files.all() == []
    path.unlink()
    os.mkfifo(path)
    assert files.find(uri) is None  # and find does not wait for a writer


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    files = ModelFiles(tmp_path / "models")
    assert files.find(URI) is None
    assert files.all() == []
    small_model(tmp_path / "staged")
    with pytest.raises(StorageFailed):
        files.install(URI, [tmp_path / "staged"], "")


def test_a_whole_model_passes(tmp_path: Path) -> None:
    data = small_model(tmp_path / "a.gguf")
    check_model(tmp_path / "a.gguf", "a.gguf")
    (tmp_path / "b.gguf").write_bytes(data + b"\0" * 1000)
    check_model(tmp_path / "b.gguf", "b.gguf")  # extra bytes are allowed


@pytest.mark.parametrize("kept", [0, 3, 4, 8, 20, 30, 60, 100, 150, 200, 300, 400, 1000, 399_000, 400_000])
def test_a_truncated_model_is_found_wherever_it_ends(kept: int, tmp_path: Path) -> None:
    data = small_model(tmp_path / "a.gguf")
    (tmp_path / "a.gguf").write_bytes(data[:kept])
    with pytest.raises(ModelCorrupt, match=r"a\.gguf is (truncated|damaged or truncated|not a model)"):
        check_model(tmp_path / "a.gguf", "a.gguf")


def test_a_damaged_header_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    whole = small_model(tmp_path / "a.gguf", size=1000)
    refused = 0
    for at in range(4, 300, 7):
        (tmp_path / "a.gguf").write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        try:
            check_model(tmp_path / "a.gguf", "a.gguf")
        except GnoError:
            refused += 1
    assert 10 < refused < 40


@pytest.mark.parametrize(
    ("start", "says"),
    [
        (b"", "empty"),
        (b"\n <!DOCTYPE html>", "login or error page"),
        (b"<html>", "login or error page"),
        (b'\xef\xbb\xbf<?xml version="1.0"?><Error>', "login or error page"),
        (b'{"error":"gated"}', "an error message"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"PK\x03\x04", "not a GGUF file"),
    ],
)
def test_files_that_are_not_models_are_described(start: bytes, says: str, tmp_path: Path) -> None:
    assert says in describe(start)
    (tmp_path / "a").write_bytes(start)
    with pytest.raises(ModelCorrupt, match=says):
        check_model(tmp_path / "a", "a")


def test_space_is_checked_before_the_download(tmp_path: Path) -> None:
    staging.check_space(tmp_path, 1000)
    with pytest.raises(StorageFailed) as caught:
        staging.check_space(tmp_path, 10**18)
    assert caught.value.details["needed_bytes"] == 10**18 + staging.MARGIN_BYTES
    assert caught.value.details["free_bytes"]


@pytest.mark.slow
def test_parameters_are_counted_in_the_file(tmp_path: Path, smollm_gguf: Path) -> None:
    assert parameters(smollm_gguf) == 134_515_008
    path = tmp_path / "a.gguf"
    small_model(path)
    assert parameters(path) == 100_100
    small_model(path, size=200_000)
    assert parameters(path) == 200_100  # of the current file
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelCorrupt):
        parameters(path)
    with pytest.raises(ModelCorrupt):
        parameters(tmp_path / "missing.gguf")


def test_one_at_a_time_even_if_the_folder_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "partial" / "one"
    waits = []
    with contextlib.ExitStack() as first:
        first.enter_context(staging.exclusive(folder, lambda: None))

        def waiting() -> None:
            waits.append(1)
            shutil.rmtree(folder)  # as the process that holds the lock does at the end
            first.close()

        with staging.exclusive(folder, waiting):
            assert folder.is_dir()
    assert waits == [1]
