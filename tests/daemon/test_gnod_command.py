from __future__ import annotations

import resource
import subprocess
import sys

import pytest

import gnod
from gnod.__main__ import exit_status, main
from gnod.daemon import process_settings
from gnod.daemon.notify import LAUNCHD, SYSTEMD
from gnod.errors import EXIT_RUNTIME, EXIT_VALIDATION, ConfigInvalid, IndexLocked, StorageFailed


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"gnod {gnod.__version__}\n"


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--log-level", "loud"], ["surplus"]])
def test_bad_usage_has_the_status_of_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == EXIT_VALIDATION
    assert "gnod: " in capsys.readouterr().err


def test_a_bad_index_name_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--index", "../x"]) == EXIT_VALIDATION
    assert capsys.readouterr().err.startswith("gnod: index name '../x' is not valid")


def test_help_needs_nothing_of_the_daemon() -> None:
    program = """
import contextlib, io, sys
from gnod.__main__ import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(["--help"])
print(sorted(name for name in ("asyncio", "apsw", "numpy", "gnod.daemon") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_launchd_is_not_asked_to_start_it_again_where_that_cannot_help() -> None:
    assert exit_status(ConfigInvalid("unknown key"), LAUNCHD) == 0
    assert exit_status(IndexLocked("another gnod serves it"), LAUNCHD) == 0
    assert exit_status(StorageFailed("the disk is full"), LAUNCHD) == EXIT_RUNTIME
    assert exit_status(IndexLocked("another gnod serves it"), SYSTEMD) == EXIT_RUNTIME
    assert exit_status(ConfigInvalid("unknown key"), SYSTEMD) == EXIT_VALIDATION  # RestartPreventExitStatus
    assert exit_status(ConfigInvalid("unknown key"), None) == EXIT_VALIDATION


@pytest.mark.parametrize(
    ("soft", "hard", "wanted"),
    [
        (256, resource.RLIM_INFINITY, 10_240),  # macOS
        (1024, 524_288, 10_240),  # Linux
        (1024, 4096, 4096),
        (65_536, 524_288, 65_536),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, resource.RLIM_INFINITY),
        (0, 0, 0),
    ],
)
def test_the_limit_of_open_files_is_only_raised(soft: int, hard: int, wanted: int) -> None:
    assert process_settings.file_limit(soft, hard) == wanted


def test_the_daemon_may_open_more_files_than_a_shell() -> None:
    program = (
        "import resource\nfrom gnod.daemon import process_settings\nof = resource.RLIMIT_NOFILE\n"
        "resource.setrlimit(of, (256, resource.getrlimit(of)[1]))\nprocess_settings.raise_file_limit()\n"
        "print(*resource.getrlimit(of))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    soft, hard = map(int, done.stdout.split())
    assert soft == process_settings.file_limit(256, hard) > 256
