"""gno.el in a real Emacs: its functions in batch, and `gno-search` typed into a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.editors.conftest import EDITORS, Desk, strange_socket
from tests.machine import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("emacs"), reason="emacs is not installed: apt-get install emacs-nox"),
]

SOURCE = EDITORS / "emacs" / "gno.el"

INSERT = "(insert (json-encode value))"

# What a search shows once it has settled on the answer to its last query.
SEARCH = """
(defun settled (query)
  (setq gno--results (get-buffer-create "*gno*"))
  (gno--query query)
  (while (or gno--timer gno--pending)
    (accept-process-output nil 0.01)
    (when (and gno--timer (not (memq gno--timer timer-list))) (setq gno--timer nil)))
  (with-current-buffer gno--results (buffer-string)))
"""

# What a person sees, written down ten times a second.
REPORT = """
(require 'json)
(defun report ()
  (let ((shown (and (get-buffer "*gno*") (with-current-buffer "*gno*" (buffer-string)))))
    (with-current-buffer (window-buffer (document-window))
      (let ((at (list buffer-file-name (line-number-at-pos) shown)))
        (with-temp-file NEXT (insert (json-encode at)))
        (rename-file NEXT VALUE t)))))
(defun document-window ()
  (or (minibuffer-selected-window) (selected-window)))
(setq write-region-inhibit-fsync t)
(run-with-timer 0 0.1 #'report)
"""


def emacs(desk: Desk, *forms: str) -> Any:
    """Evaluate the forms in a fresh Emacs; return the last one's value."""
    value = desk.folder / "value.json"
    program = desk.folder / "program.el"
    insert = f"(let ((value (progn {' '.join(forms)}))) (with-temp-file {json.dumps(str(value))} {INSERT}))"
    program.write_text(f";; -*- lexical-binding: t -*-\n(require 'json)\n{SEARCH}\n{insert}")
    done = subprocess.run(
        ["emacs", "-Q", "--batch", "-l", str(SOURCE), "-l", str(program)],
        env=desk.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(value.read_text())


class Terminal:
    """An Emacs in a terminal of 100 × 30, a context manager."""

    def __init__(self, desk: Desk) -> None:
        self._value = desk.folder / "at.json"
        self._value.unlink(missing_ok=True)
        report = desk.folder / "report.el"
        following = desk.folder / "at.json.next"
        report.write_text(
            REPORT.replace("VALUE", json.dumps(str(self._value))).replace("NEXT", json.dumps(str(following)))
        )
        self._process_id, self._terminal = pty.fork()
        if self._process_id == 0:
            command = ["emacs", "-nw", "-Q", "-l", str(SOURCE), "-l", str(report), str(desk.notes / "garden.md")]
            os.execvpe("emacs", command, desk.environment | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"})
        threading.Thread(target=self._read, daemon=True).start()
        try:
            wait_until(self._value.exists)
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _read(self) -> None:
        with suppress(OSError):
            while os.read(self._terminal, 1 << 16):
                pass

    def type(self, keys: str) -> None:
        """Type like a person: one key after the other."""
        for key in keys:
            os.write(self._terminal, key.encode())
            time.sleep(0.03)

    def at(self) -> tuple[str | None, int, str]:
        """Return the current file, the line, and what the search shows."""
        name, line, shown = json.loads(self._value.read_text())
        return name, line, shown or ""

    def _end(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process_id, 15)
        os.waitpid(self._process_id, 0)
        os.close(self._terminal)


@pytest.fixture
def terminal(desk: Desk) -> Iterator[Terminal]:
    with Terminal(desk) as terminal:
        yield terminal


def test_it_compiles_without_a_warning(tmp_path: Path) -> None:
    copy = shutil.copy(SOURCE, tmp_path)
    done = subprocess.run(
        ["emacs", "-Q", "--batch", "--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile", copy],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr


def test_it_passes_the_linters_of_packages(tmp_path: Path) -> None:
    """package-lint of Debian 12 knows no Emacs 28, and so warns that none can install the package."""
    program = f"""(package-initialize)
        (unless (require 'package-lint nil t) (kill-emacs 77))
        (find-file {json.dumps(str(SOURCE))})
        (dolist (found (package-lint-buffer))
          (unless (string-match-p "all released Emacs versions" (nth 3 found))
            (princ (format "%S\n" found))))
        (require 'checkdoc)
        (setq checkdoc-create-error-function
              (lambda (text start &rest _) (princ (format "%d: %s\n" (line-number-at-pos start) text)) nil))
        (checkdoc-current-buffer t)"""
    done = subprocess.run(
        ["emacs", "-q", "--batch", "--eval", f"(progn {program})"],
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == 77:
        pytest.skip("package-lint is not installed: apt-get install elpa-package-lint")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_no_name_changes_how_the_rest_reads(desk: Desk) -> None:
    said = r':title "a\u202eb\nc" :path "x\u202efdp.md" :collection "notes" :line 1 :snippet "s\u2066t" :marks []'
    assert emacs(desk, f"(substring-no-properties (gno--line (list {said})))") == (
        "a\ufffdb c  notes/x\ufffdfdp.md:1\n    s\ufffdt\n"
    )


def test_it_does_not_connect_to_another_users_socket(desk: Desk) -> None:
    with strange_socket(desk.folder) as (path, listener):
        caught = f"(condition-case caught (gno--connect {json.dumps(str(path))}) (file-error (cadr caught)))"
        assert emacs(desk, caught) == "Another user owns the socket"
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.stress
def test_both_installations_of_the_readme_load_it_at_its_first_command(desk: Desk) -> None:
    readme = (SOURCE.parent / "README.md").read_text()
    (init,) = re.findall(r"```elisp\n(.*?)```", readme, re.DOTALL)
    assert "`M-x package-install-file RET …/editors/emacs/gno.el`" in readme
    folder = json.dumps(str(desk.folder / "elpa"))
    package = f"(require 'package) (setq package-user-dir {folder}) (package-initialize)"
    batch = ["emacs", "-Q", "--batch", "--eval"]
    install = f'(progn {package} (package-install-file "{SOURCE}"))'
    subprocess.run([*batch, install], env=desk.environment, capture_output=True, check=True, timeout=60)
    used = """(princ (list (autoloadp (symbol-function 'gno-search)) (progn (gno-status) (featurep 'gno))
                          (file-name-directory (locate-library "gno"))))"""
    for start, place in ((package, "elpa/gno-0.1.0/"), (init.replace("…/editors", str(EDITORS)), "editors/emacs/")):
        done = subprocess.run(
            [*batch, f"(progn {start} {used})"], env=desk.environment, capture_output=True, text=True, timeout=60
        )
        assert re.search(rf"^\(t t .*{place}\)$", done.stdout), (start, done.stdout, done.stderr)


def test_a_search_shows_titles_places_and_the_line_that_matched(desk: Desk) -> None:
    desk.rest()
    assert emacs(desk, '(settled "lighthouse")') == (
        "Harbour  notes/harbour.md:9\n    Zürich ships a lantern to the lighthouse keeper.\n"
    )
    assert desk.commands() == ["socket", "collection list", "socket"]


def test_the_matched_words_are_marked(desk: Desk) -> None:
    found = """(settled "lighthouse")
               (with-current-buffer gno--results
                 (let ((at (point-min)))
                   (while (not (memq 'gno-match (ensure-list (get-text-property at 'face))))
                     (setq at (next-single-property-change at 'face)))
                   (buffer-substring-no-properties at (next-single-property-change at 'face))))"""
    assert emacs(desk, found) == "lighthouse"


def test_half_a_query_keeps_the_hits_and_says_so(desk: Desk) -> None:
    shown = emacs(desk, '(settled "lighthouse") (settled "lighthouse \\"lantern")')
    assert shown.startswith("a quotation mark is not closed")
    assert "notes/harbour.md:9" in shown


def test_each_key_takes_the_search_before_it_back(desk: Desk) -> None:
    """Keys typed at once make one request; one that is under way is cancelled, and its answer never shown."""
    desk.ok("daemon", "start")
    seen = emacs(
        desk,
        """(defvar sent nil)
           (cl-defmethod jsonrpc-connection-send :around ((c gno-connection) &rest args)
             (push (vector (format "%s" (plist-get args :method)) (plist-get args :params)) sent)
             (cl-call-next-method))
           (gno--connection)
           (gno--query "l") (gno--query "la") (gno--query "lantern")
           (timer-event-handler gno--timer) ; its time has come; and the next key comes before the answer can
           (let ((shown (settled "lighthouse")))
             (vector shown (vconcat (nreverse sent))))""",
    )
    assert "garden" not in seen[0]
    assert seen[1] == [
        [":search.lexical", {"query": "lantern", "limit": 20, "prefix_last_term": True}],
        [":$/cancelRequest", {"id": 1}],
        [":search.lexical", {"query": "lighthouse", "limit": 20, "prefix_last_term": True}],
    ]


def test_what_is_found_in_a_converted_file_opens_as_text(desk: Desk) -> None:
    opened = """(settled "lanternfish")
                (cl-letf (((symbol-function 'recenter) #'ignore)) (gno--open (car gno--hits)))
                (list (buffer-name) (thing-at-point 'line t) buffer-read-only)"""
    assert emacs(desk, opened) == ["gno://notes/stock.csv", "| lanternfish | 12 |\n", True]


def test_what_was_left_out_is_said(desk: Desk) -> None:
    notes = (
        '(gno--remarks (list :freshness (list :current {} :state "syncing")'
        ' :notes ["one server was not asked" "another is down"]))'
    )
    nothing = '(gno--remarks (list :freshness (list :current t :state "current") :notes []))'
    said = emacs(desk, f"(list {notes.format('t')} {notes.format(':json-false')} {nothing})")
    both = "one server was not asked; another is down"
    assert said == [both, f"syncing; {both}", None]


def test_status(desk: Desk) -> None:
    said = emacs(desk, "(gno-status)")
    assert said.startswith("Index default: 3 documents, 3 chunks; current\n  notes: 3 of 4 indexed, 1 file could not")


@pytest.mark.stress
def test_links_are_followed_and_found_back(linked: Desk) -> None:
    links, harbour, notes = (
        json.dumps(str(path)) for path in (linked.notes / "links.md", linked.harbour, linked.notes)
    )
    seen = emacs(
        linked,
        f"""(defun at () (list (file-relative-name buffer-file-name {notes}) (line-number-at-pos)))
            (defun follow (line column)
              (find-file {links})
              (goto-char (point-min)) (forward-line (1- line)) (forward-char column)
              (condition-case problem (progn (gno-follow) (at)) (user-error (error-message-string problem))))
            (defvar asked nil)
            (defvar browsed nil)
            (defun offered (prompt lines &rest _)
              (push prompt asked)
              (let ((chosen (car (last lines)))) (if (consp chosen) (car chosen) chosen)))
            (cl-letf (((symbol-function 'recenter) #'ignore)
                      ((symbol-function 'completing-read) #'offered)
                      ((symbol-function 'browse-url) (lambda (url &rest _) (setq browsed url))))
              (list (follow 3 10) (follow 3 50) (progn (follow 5 0) browsed) (follow 6 0) (follow 7 0) (follow 1 0)
                    (progn (find-file {harbour}) (gno-backlinks) (at))
                    (progn (find-file {harbour}) (gno-mentions) (at))
                    asked))""",
    )
    assert seen[:3] == [["harbour.md", 4], ["garden.md", 1], "https://example.org/x"]
    assert "nowhere does not lead to a document" in seen[3]
    assert seen[4] == ["b/twin.md", 1]
    assert "no link in this line" in seen[5]
    assert seen[6:] == [
        ["links.md", 3],
        ["links.md", 9],
        ["Mentions of Harbour: ", "Links to Harbour: ", "Which twin? "],
    ]


def test_which_link_holds_the_cursor(desk: Desk) -> None:
    found = emacs(
        desk,
        """(let ((links (list '(:target "one" :n 1) '(:target "two.md" :n 2) '(:target "one" :n 3)))
                 (text "See [[one|shown]], [two](two.md) and [[one]]."))
             (list (mapconcat (lambda (column) (number-to-string (plist-get (gno--link-at links text column) :n)))
                              (number-sequence 0 (1- (length text))) "")
                   (gno--link-at nil text 0)))""",
    )
    assert found == ["1" * 17 + "2" * 15 + "3" * 13, None]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ('(let ((gno-command (list "no-such-gnoctl"))) (gno-status))', "no-such-gnoctl cannot be run: install gnod"),
        ('(gno--ask :document.get (list :ref "notes/none.md"))', "notes/none.md"),
    ],
)
def test_errors_say_what_to_do(desk: Desk, form: str, sentence: str) -> None:
    said = emacs(desk, f"(condition-case problem {form} (user-error (error-message-string problem)))")
    assert sentence in said


@pytest.mark.stress
def test_a_setting_that_forbids_starting_the_daemon_is_kept(desk: Desk) -> None:
    desk.rest()
    desk.config.write_text(desk.config.read_text() + "\ndaemon:\n  autostart: false\n")
    said = emacs(desk, "(condition-case problem (gno-search) (user-error (error-message-string problem)))")
    assert re.search("autostart off: run `gnoctl daemon start`", said)
    assert not desk.is_serving()


@pytest.mark.stress
def test_a_daemon_that_went_away_is_started_again(desk: Desk) -> None:
    stop = f'(let ((default-directory "{desk.folder}")) (call-process "gnoctl" nil nil nil "daemon" "stop"))'
    shown = emacs(desk, f'(settled "lighthouse") {stop} (sleep-for 0.2) (settled "lantern")')
    assert "notes/garden.md:3" in shown


def test_typing_finds_and_return_opens_at_the_line(desk: Desk, terminal: Terminal) -> None:
    terminal.type("\033xgno-search\r")
    terminal.type("lighthouse")
    wait_until(lambda: "notes/harbour.md:9" in terminal.at()[2])
    terminal.type("\r")
    wait_until(lambda: terminal.at() == (str(desk.harbour), 9, ""))


@pytest.mark.stress
def test_the_next_hit_is_chosen_by_a_key(desk: Desk, terminal: Terminal) -> None:
    terminal.type("\033xgno-search\r")
    terminal.type('"lantern"')  # no query until it is closed, so that the hits come once
    wait_until(lambda: "notes/harbour.md" in terminal.at()[2] and "notes/garden.md" in terminal.at()[2])
    second = re.findall(r"notes/(\w+\.md):\d", terminal.at()[2])[1]
    terminal.type("\x0e\r")
    wait_until(lambda: terminal.at()[0] == str(desk.notes / second) and not terminal.at()[2])
