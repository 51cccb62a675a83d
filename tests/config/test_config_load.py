"""Reading the config file: defaults, GNO's own files, and all faults in one report."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gnod.config.load import LoadedConfig, load
from gnod.config.model import DEFAULT_EXCLUDES, CollectionConfig, Config, ContextConfig
from gnod.errors import ConfigInvalid

GNO_FILE = """\
version: "1.0"
ftsTokenizer: snowball english
projectAffinity:
  enabled: true
  contribution: 0.03
collections:
  - name: notes
    path: /Users/you/notes
    pattern: "**/*.md"
    egressPolicy: local_only
    sourceAvailability: any
    include: []
    exclude:
      - .git
      - node_modules
    languageHint: en
  - name: wiki
    path: /Users/you/wiki
    updateCmd: "git pull"
    models:
      gen: "file:/models/gen.gguf"
contexts:
  - scopeType: global
    scopeKey: /
    text: Personal knowledge base
  - scopeType: collection
    scopeKey: notes:
    text: Personal notes
  - scopeType: prefix
    scopeKey: gno://wiki/api
    text: API documentation
models:
  activePreset: slim-tuned
  presets:
    - id: slim-tuned
      embed: hf:a/b/c.gguf
contentTypes:
  - id: person
    prefixes: [people/]
gateway: {host: 127.0.0.1}
"""


def loaded(path: Path, text: str) -> LoadedConfig:
    path.write_text(text)
    return load(path)


def faults(path: Path, text: str) -> list[str]:
    """Return the message lines of the ConfigInvalid that `text` must cause."""
    path.write_text(text)
    with pytest.raises(ConfigInvalid) as caught:
        load(path)
    listed = caught.value.details["faults"]
    assert isinstance(listed, list)
    assert caught.value.details["file"] == str(path)
    lines = caught.value.message.split("\n")
    assert len(lines) == len(listed)
    return lines


def collection(path: Path, settings: str) -> CollectionConfig:
    result = loaded(path, f"collections:\n  - {{name: a, path: /a, {settings}}}\n")
    assert result.warnings == ()
    return result.config.collections[0]


def test_a_missing_file_means_the_defaults(path: Path) -> None:
    assert load(path) == LoadedConfig(config=Config())


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "{}", "collections:\ncontexts: ~\n"])
def test_an_empty_file_means_the_defaults(path: Path, text: str) -> None:
    assert loaded(path, text) == LoadedConfig(config=Config())


def test_a_file_of_gno_loads_as_it_is(path: Path) -> None:
    result = loaded(path, GNO_FILE)
    notes, wiki = result.config.collections
    assert (notes.language, notes.exclude, notes.include) == ("en", (".git", "node_modules"), ())
    assert (wiki.update_command, wiki.models) == ("git pull", {"answer": "file:/models/gen.gguf"})
    assert [context.scope for context in result.config.contexts] == ["/", "notes:", "gno://wiki/api"]
    assert result.config.models.preset == "mini-multilingual"
    named = ("ftsTokenizer", "projectAffinity", "egressPolicy", "presets", "activePreset", "gateway")
    assert [name for name in named if not any(name in warning for warning in result.warnings)] == []
    assert len(result.warnings) == 8
    assert not any("did you mean 'preset'" in warning for warning in result.warnings)
    assert "there is no preset 'slim-tuned', so 'mini-multilingual' is used" in "".join(result.warnings)


def test_every_setting_is_read(path: Path) -> None:
    config = loaded(
        path,
        "ingest: {max_file_mb: 5, timeout_s: 1.5, max_characters: 50_000, memory_mb: 512, workers: 3}\n"
        "watch: {rescan_s: 60}\n"
        "daemon: {log_level: debug, autostart: false}\n"
        "models: {preset: mini, idle_unload_s: 10, gpu: off}\n",
    ).config
    assert (config.ingest.max_file_mb, config.ingest.timeout_s, config.ingest.max_characters) == (5, 1.5, 50_000)
    assert (config.ingest.memory_mb, config.ingest.workers, config.watch.rescan_s) == (512, 3, 60)
    assert (config.daemon.log_level, config.daemon.autostart) == ("debug", False)
    assert (config.models.preset, config.models.idle_unload_s, config.models.gpu) == ("mini", 10, "off")


def test_collection_values_are_settled(path: Path) -> None:
    settings = "include: [MD, .Txt, '*.pdf', md, tar.gz], language: no, update_command: ''"
    got = collection(path, settings)
    assert got.include == (".md", ".txt", ".pdf", ".tar.gz")
    assert (got.language, got.update_command, got.exclude) == ("no", None, DEFAULT_EXCLUDES)
    assert collection(path, "exclude: []").exclude == ()


def test_paths_are_made_absolute_without_touching_the_disk(path: Path) -> None:
    text = "".join(
        f"  - {{name: c{i}, path: '{written}'}}\n"
        for i, written in enumerate(["~/notes", "../docs", "here", "/nowhere/at/all/"])
    )
    folder = path.parent
    expected = [str(Path.home() / "notes"), str(folder.parent / "docs"), str(folder / "here"), "/nowhere/at/all"]
    assert [c.path for c in loaded(path, "collections:\n" + text).config.collections] == expected


def test_merges_and_aliases_are_followed(path: Path) -> None:
    result = loaded(
        path,
        "x: &base {language: de, include: [md], path: /base}\n"
        "collections:\n"
        "  - <<: *base\n    name: a\n    path: /a\n"
        "  - {<<: [*base], name: b, languageHint: en}\n",
    )
    first, second = result.config.collections
    assert (first.path, first.language, second.path, second.language) == ("/a", "de", "/base", "en")


def test_context_texts_are_settled(path: Path) -> None:
    result = loaded(path, "contexts:\n  - scope: ' / '\n    text: |\n      A\n      e\u0301\n")
    assert result.config.contexts == (ContextConfig(scope="/", text="A\né"),)


def test_every_fault_is_named_at_once_with_its_line(path: Path) -> None:
    lines = faults(
        path,
        "collections:\n"
        "  - nme: a\n"
        "    path: 7\n"
        "  - name: My Notes\n"
        "    path: ''\n"
        "    exclude: x\n"
        "  - 3\n"
        "ingest: {workers: 0, timeout_s: '60', max_file_mb: true}\n"
        "watch: []\n"
        "contexts:\n"
        "  - {scope: notes/api, text: x}\n",
    )
    for line, expected in zip(
        lines,
        [
            "index.yml:2: collections[0].name: is missing; is 'nme' a misspelling of it?",
            "index.yml:3: collections[0].path: expected a string, got the number 7; put it in quotes",
            "index.yml:4: collections[1].name: collection name 'My Notes' is not valid",
            "index.yml:5: collections[1].path: must not be empty",
            "index.yml:6: collections[1].exclude: expected a list of strings, got the string 'x'",
            "index.yml:7: collections[2]: expected a mapping, got the number 3",
            "index.yml:8: ingest.max_file_mb: expected a whole number, got true",
            "index.yml:8: ingest.timeout_s: expected a number of seconds, got the string '60'; remove the quotes",
            "index.yml:8: ingest.workers: must be from 1 to 256, got 0",
            "index.yml:9: watch: expected a mapping, got a list",
            "index.yml:11: contexts[0].scope: 'notes/api' is not a scope",
        ],
        strict=True,
    ):
        assert line.startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1\nb: 2\n", "index.yml:2: not valid YAML"),
        ("a:\n\t- b\n", "index.yml:2: not valid YAML"),
        ("a: b: c\n", "index.yml:1: not valid YAML: mapping values are not allowed here"),
        ("a: *nothing\n", "index.yml:1: not valid YAML: the anchor 'nothing'"),
        ("a: \x01\n", "index.yml:1: not valid YAML: the character U+0001 is not allowed"),
        ("a: 1\n---\nb: 2\n", "index.yml:2: only one YAML document"),
        ("watch:\n  rescan_s: 5\n  rescan_s: 6\n", "index.yml:3: watch.rescan_s: the key 'rescan_s' is given twice"),
        ("x: [{a: 1, 'a': 2}]\n", "index.yml:1: x[0].a: the key 'a' is given twice"),
        ("- a\n", "index.yml:1: expected a mapping, got a list"),
        ("hello\n", "index.yml:1: expected a mapping, got the string 'hello'"),
        ("{[a]: b}\n", "index.yml:1: a key must be a plain word, got a list"),
        ("daemon: {autostart: yes}", "autostart: expected true or false, got the string 'yes'; did you mean true?"),
        ("daemon: {log_level: inof}", "expected debug, info, warning or error, got the string 'inof'; did you mean"),
        ("models: {gpu: false}", "models.gpu: expected auto or off, got false"),
        ("models: {preset: mini, activePreset: mini}", "'activePreset' and 'preset' are the same setting"),
        ("ingest: {max_file_mb: 1.5}", "expected a whole number, got the number 1.5"),
        ("watch: {rescan_s: .nan}", "must be from 0.1 to 2,592,000, got .nan"),
        ("watch: {rescan_s: .inf}", "must be from 0.1 to 2,592,000, got .inf"),
        ("ingest: {max_file_mb: -1}", "must be from 1 to 100,000, got -1"),
        ("ingest: {max_file_mb: " + "9" * 5000 + "}", "must be from 1 to 100,000, got 9999"),
        ("contexts: [{scope: /, text: ' '}]", "contexts[0].text: must not be empty"),
        ("contexts: [{scope: /}]", "contexts[0].text: is missing"),
        ("viewers: [{files: [.pdf]}]", "viewers[0].command: is missing"),
        ("viewers: [{files: [a b], command: [x]}]", "expected extensions such as '.pdf', or MIME types, got 'a b'"),
        ("viewers: [{files: [.pdf], command: zathura}]", "viewers[0].command: expected a list of strings"),
        ("contexts: [{scope: /, scopeKey: /, text: x}]", "'scopeKey' and 'scope' are the same setting"),
        ("contexts: [{scopeType: prefix, scopeKey: /, text: x}]", "is 'prefix', but '/' is a scope of type 'global'"),
        ("contexts: [{scope: 'gno://a/../b', text: x}]", "must not contain '.' or '..'"),
        ("collections: [{name: a, path: /a}, {name: a, path: /b}]", "'a' is already the name of collections[0]"),
        ("collections: [{name: a, path: ~nobody-here/x}]", "does not name a home folder"),
        ("collections: [{name: a, path: /a, include: [a/b]}]", "expected extensions such as '.md', got 'a/b'"),
        ("collections: [{name: a, path: /a, language: english}]", "expected a language tag such as 'en'"),
        ("collections: [{name: a, path: /a, language: zh_CN}]", "did you mean 'zh-CN'?"),
        ("collections: [{name: a, path: /a, models: {embed: 1}}]", "collections[0].models.embed: expected a string"),
        ("models: {embed: no}", "models.embed: 'no' is not a model's address"),
        ("models: {embed: 'https://me:secret@host/v1#m'}", "keys and passwords must not be in the config"),
        ("memory: {egress: none}", "memory.egress: expected local, lan or any"),
        ("collections: [{name: a, path: /a, egress: world}]", "egress: expected local, lan or any"),
        ("models: {expand: false}", "models.expand: expected a string, got false; put it in quotes"),
        ("models: {rerank: ''}", "models.rerank: must not be empty"),
        ("models: {answer: hf:a/b}", "models.answer: 'hf:a/b' does not name a file: a language model needs one"),
        ("models: {gen: none, answer: none}", "'answer' and 'gen' are the same setting"),
        ("collections: [{name: a, path: /a, models: {embed: none}}]", "'none' is not a model's address"),
        ("searches: [{name: a b, query: x}]", "'a b' is not valid"),
        ("searches: [{name: a, query: x}, {name: a, query: y}]", "there are two searches 'a'"),
        ("searches: [{name: a}]", "searches[0].query: is missing"),
        ("searches: {a: x}", "searches: expected a list"),
        ('collections: [{name: a, path: "/a\\0b"}]', "contains a NUL"),
        ('collections: [{name: a, path: "/a\\ud800b"}]', "half a surrogate pair"),
    ],
)
def test_a_fault_is_one_clear_sentence(path: Path, text: str, expected: str) -> None:
    (line,) = faults(path, text)
    assert expected in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("colections: []", "index.yml:1: colections: unknown key, kept and ignored; did you mean 'collections'?"),
        ("watch:\n  rescanS: 5", "index.yml:2: watch.rescanS: unknown key, kept and ignored; did you mean 'rescan_s'?"),
        ("zebra: 1", "index.yml:1: zebra: unknown key, kept and ignored"),
        ("models: {expnd: none}", "index.yml:1: models.expnd: unknown key, kept and ignored; did you mean 'expand'?"),
        ("models: {preset: slm}", "there is no preset 'slm', so 'mini-multilingual' is used; did you mean 'slim'?"),
        ("version: '2.0'", "version: gnod supports version '1.0' of this file, not '2.0'"),
        (
            "collections: [{name: notes, path: /a}]\ncontexts: [{scope: 'ntes:', text: x}]",
            "there is no collection 'ntes', so this context is not used; did you mean 'notes'?",
        ),
    ],
)
def test_what_is_ignored_is_a_warning(path: Path, text: str, expected: str) -> None:
    (warning,) = loaded(path, text).warnings
    assert warning.endswith(expected)


def test_a_file_that_cannot_be_read_is_a_fault(path: Path, tmp_path: Path) -> None:
    path.mkdir()
    with pytest.raises(ConfigInvalid, match=r"index\.yml: cannot be read: it is not a regular file"):
        load(path)
    with pytest.raises(ConfigInvalid, match="cannot be read"):
        load(Path(__file__) / "index.yml")
    pipe = tmp_path / "pipe.yml"
    os.mkfifo(pipe)
    with pytest.raises(ConfigInvalid, match="not a regular file"):
        load(pipe)


def test_other_encodings_are_a_fault_and_a_byte_order_mark_is_not(path: Path) -> None:
    path.write_bytes(b"version: '1.0'\nx: \xff\n")
    with pytest.raises(ConfigInvalid, match=r"index\.yml:2: is not UTF-8: the byte 0xff"):
        load(path)
    path.write_bytes(b"\xef\xbb\xbfversion: '1.0'\r\nwatch: {rescan_s: 7}\r\n")
    assert load(path).config.watch.rescan_s == 7
