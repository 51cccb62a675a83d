"""Edits of the config file make the intended change and leave every other character alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gnod.config import edit
from gnod.config.load import load
from gnod.config.model import CollectionConfig, ContextConfig, SearchConfig
from gnod.errors import (
    CollectionExists,
    CollectionNotFound,
    ConfigInvalid,
    ContextExists,
    ContextNotFound,
    InvalidName,
    InvalidReference,
    SearchNotFound,
)

COMMENTED = """\
# top

version:   '1.0'   # keep my spacing
ftsTokenizer: snowball english
collections:  # my folders
  # before notes
  - name: "notes"  # the notes
    path: /n   # where they are
    languageHint: en
    # inside notes

  # before work
  -   path: /w
      name: work
      updateCmd: |
        git pull
        echo done
  # after work

# before contexts
contexts:
- {scopeType: collection, scopeKey: 'notes:', text: My notes}  # one
# two follows
- scope: gno://notes/a b
  text: >-
    folded
    text
- scope: "work:"
  text: Work
# the end
"""

NEW = CollectionConfig(name="new", path="/x y")


def edited(path: Path, text: str, change: Callable[[Path], object]) -> str:
    path.write_bytes(text.encode())
    change(path)
    return path.read_bytes().decode()


def add_new(path: Path) -> None:
    edit.add_collection(path, NEW)


def names(path: Path) -> list[str]:
    return [collection.name for collection in load(path).config.collections]


def test_create_writes_a_starter_once(path: Path) -> None:
    assert edit.create(path)
    assert not edit.create(path)
    assert load(path).config.collections == ()
    assert path.stat().st_mode & 0o777 == 0o600


def test_adding_and_removing_restores_the_starter(path: Path) -> None:
    edit.add_collection(path, NEW)
    edit.add_context(path, ContextConfig(scope="new:", text="hint"))
    assert names(path) == ["new"]
    edit.remove_collection(path, "new")
    assert path.read_text() == edit.STARTER


def test_a_new_collection_is_written_without_its_defaults(path: Path) -> None:
    collection = CollectionConfig(
        name="a",
        path="/tmp/ü: #1",
        include=("MD", ".txt"),
        exclude=(),
        gitignore=False,
        language="no",
        update_command="git pull\n# 'x' \"y\"\u2028\x7f",
        models={"gen": "hf:a/b:Q8_0"},
    )
    text = edited(path, "", lambda path: edit.add_collection(path, collection))
    assert text == (
        "collections:\n"
        "  - name: a\n"
        '    path: "/tmp/ü: #1"\n'
        "    include: [.md, .txt]\n"
        "    exclude: []\n"
        "    gitignore: false\n"
        '    language: "no"\n'
        '    update_command: "git pull\\n# \'x\' \\"y\\"\\u2028\\u007f"\n'
        '    models: {answer: "hf:a/b:Q8_0"}\n'
    )
    (got,) = load(path).config.collections
    assert got.update_command == collection.update_command


def test_adding_changes_nothing_else(path: Path) -> None:
    text = edited(path, COMMENTED, add_new)
    assert text == COMMENTED.replace("  # after work\n", "  - name: new\n    path: /x y\n  # after work\n")


def test_removing_leaves_the_comments_around_it(path: Path) -> None:
    text = edited(path, COMMENTED, lambda path: edit.remove_collection(path, "notes"))
    gone = COMMENTED.split("  # before notes\n")[1].split("\n  # before work")[0]
    expected = COMMENTED.replace(gone, "")
    expected = expected.replace("- {scopeType: collection, scopeKey: 'notes:', text: My notes}  # one\n", "")
    expected = expected.replace("- scope: gno://notes/a b\n  text: >-\n    folded\n    text\n", "")
    assert text == expected
    for comment in ("# before notes", "# before work", "# two follows", "# after work", "# the end"):
        assert comment in text


def test_removing_the_last_item_leaves_the_comment_after_it(path: Path) -> None:
    text = edited(path, COMMENTED, lambda path: edit.remove_collection(path, "work"))
    assert "  # before work\n  # after work\n\n# before contexts\n" in text
    assert text.endswith("    text\n# the end\n")


def test_publishing_changes_one_line(path: Path) -> None:
    text = edited(path, COMMENTED, lambda path: edit.publish(path, "work", "milvus://host/team/a"))
    added = '      publish: "milvus://host/team/a"\n'
    assert text.replace(added, "") == COMMENTED
    assert edited(path, text, lambda path: edit.publish(path, "work", None)) == COMMENTED


def test_renaming_changes_names_and_scopes_only(path: Path) -> None:
    path.write_text(COMMENTED)
    edit.rename_collection(path, "notes", "zettel")
    expected = COMMENTED.replace('name: "notes"', 'name: "zettel"').replace("'notes:'", "'zettel:'")
    expected = expected.replace("gno://notes/a b", '"gno://zettel/a b"')
    assert path.read_text() == expected
    bare = "collections:\n  - name: notes\n    path: /n\ncontexts:\n  - scopeKey: notes: # mine\n    text: x\n"
    renamed = edited(path, bare, lambda path: edit.rename_collection(path, "notes", "job"))
    assert '  - scopeKey: "job:" # mine\n' in renamed


FLOW = """\
{version: "1.0", collections: [
  {name: a, path: /a}, # one
  {name: b, path: /b}  # two
], contexts: [{scope: 'a:', text: A}, {scope: 'b:', text: B}]} # end
"""


def test_flow_style_stays_flow_style(path: Path) -> None:
    assert "{name: b, path: /b}, {name: new, path: /x y}  # two\n]" in edited(path, FLOW, add_new)
    for name, comments in (("a", "# one"), ("b", "# two")):
        text = edited(path, FLOW, lambda path, name=name: edit.remove_collection(path, name))  # type: ignore[misc]
        assert comments in text
        assert "# one" in text
        assert "# end" in text
    path.write_text(FLOW)
    edit.remove_collection(path, "a")
    edit.remove_collection(path, "b")
    assert names(path) == []
    add_new(path)
    edit.add_context(path, ContextConfig(scope="/", text="x, y"))
    assert names(path) == ["new"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        *("", "# only a comment", "---\n", "{}\n", "{version: '1.0'}", "collections:", "version: '1.0'"),
        "collections: # none yet\n  # - name: example\nwatch: {rescan_s: 5}\n",
        *("collections: []", "collections: [] # none\n", "collections: [ # none\n]\n", "collections: ~\nwatch: {}\n"),
        *("{collections: , watch: {}}\n", "{collections: [], watch: {}}\n", "version: '1.0'\n...\n"),
        "--- # start\nversion: '1.0'\n",
        "  version: '1.0'\n  watch: {}\n",
        "collections:\n- name: a\n  path: /a",
        "collections:\n  -\n    # inside\n    name: a\n    path: /a\n  # end\n",
        "collections: &list\n  - &item\n    name: a\n    path: /a\n",
        "collections: [{name: a, path: /a},]\n",
        "collections: [\n  {name: a, path: /a}, # a\n]\n",
        "x: &a {name: a, path: /a}\ncollections:\n  - *a # alias\n  - name: b\n    path: /b\n    models:\n#e",
        "collections:\n  - name: a\n    path: |-\n      /a\n\n# end\n",
        "? collections\n: # odd\n  - name: a\n    path: /a\n",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_layout_can_be_added_to_and_cleared(path: Path, text: str, newline: str) -> None:
    text = "\ufeff" + text.replace("\n", newline)
    path.write_bytes(text.encode())
    before = names(path)
    add_new(path)
    assert names(path) == [*before, "new"]
    for name in [*before, "new"]:
        for address in ("milvus://host/team/a", "milvus://other/team/a", None, None):
            edit.publish(path, name, address)
            assert load(path).config.collection(name).publish == address
    for name in [*before, "new"]:
        edit.remove_collection(path, name)
    assert names(path) == []
    add_new(path)
    after = path.read_bytes().decode()
    outer = [line.split("#")[1] for line in text.split("\n") if "#" in line and "inside" not in line]
    assert [comment for comment in outer if comment not in after and "alias" not in comment] == []
    assert after.startswith("\ufeff")
    assert newline not in text or "\n" not in after.replace(newline, "")


def test_what_an_edit_cannot_follow_is_refused_and_left_alone(path: Path) -> None:
    for text in (
        "x: &c [{name: a, path: /a}]\ncollections: *c\n",
        "x: &c {collections: [{name: a, path: /a}]}\n<<: *c\n",
        "collections:\n  - &a {name: a, path: /a}\ny: *a\n",
    ):
        with pytest.raises(ConfigInvalid, match=r"edit it by hand|the anchor .* is not defined"):
            edited(path, text, lambda path: edit.remove_collection(path, "a"))
        assert path.read_text() == text


def test_an_invalid_file_is_left_alone(path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"index\.yml:1: collections: expected a list"):
        edited(path, "collections: 3\n", add_new)
    assert path.read_text() == "collections: 3\n"


@pytest.mark.parametrize(
    ("collection", "error"),
    [
        (CollectionConfig(name="notes", path="/z"), CollectionExists),
        (CollectionConfig(name="No Good", path="/z"), InvalidName),
        (CollectionConfig(name="z", path=""), ConfigInvalid),
        (CollectionConfig(name="z", path="~nobody-here/z"), ConfigInvalid),
        (CollectionConfig(name="z", path="/z\udc80"), ConfigInvalid),
        (CollectionConfig(name="z", path="/z", language="english"), ConfigInvalid),
        (CollectionConfig(name="z", path="/z", include=("a/b",)), ConfigInvalid),
    ],
)
def test_no_edit_makes_an_invalid_file(path: Path, collection: CollectionConfig, error: type[Exception]) -> None:
    with pytest.raises(error):
        edited(path, COMMENTED, lambda path: edit.add_collection(path, collection))
    assert path.read_text() == COMMENTED


def test_unknown_names_list_the_known_ones(path: Path) -> None:
    path.write_text(COMMENTED)
    with pytest.raises(CollectionNotFound, match=r"did you mean 'notes'\?") as caught:
        edit.remove_collection(path, "nots")
    assert caught.value.details == {"name": "nots", "known": ["notes", "work"]}
    with pytest.raises(CollectionNotFound, match="known: notes, work"):
        edit.rename_collection(path, "zzz", "a")
    with pytest.raises(CollectionExists):
        edit.rename_collection(path, "notes", "work")
    with pytest.raises(InvalidName):
        edit.rename_collection(path, "notes", "A B")
    assert path.read_text() == COMMENTED


def test_contexts_are_added_once(path: Path) -> None:
    path.write_text(COMMENTED)
    edit.add_context(path, ContextConfig(scope="gno://work/caf\u00e9/", text="hint"))
    assert 'text: Work\n- scope: "gno://work/café/"\n  text: hint\n# the end\n' in path.read_text()
    with pytest.raises(ContextExists):
        edit.add_context(path, ContextConfig(scope="gno://work/cafe\u0301", text=" hint\n"))
    with pytest.raises(CollectionNotFound):
        edit.add_context(path, ContextConfig(scope="wrok:", text="x"))
    with pytest.raises(InvalidReference):
        edit.add_context(path, ContextConfig(scope="work", text="x"))
    with pytest.raises(ConfigInvalid):
        edit.add_context(path, ContextConfig(scope="/", text=" "))


def test_contexts_are_removed_by_scope_or_by_text(path: Path) -> None:
    path.write_text("contexts: # hints\n  - {scope: /, text: a}\n  - {scope: /, text: b}\n  - {scope: /, text: c}\n")
    assert edit.remove_context(path, "/", " b ") == [ContextConfig(scope="/", text="b")]
    with pytest.raises(ContextNotFound, match="has no context 'b'; scopes with a context: /"):
        edit.remove_context(path, "/", "b")
    assert [context.text for context in edit.remove_context(path, "/")] == ["a", "c"]
    assert path.read_text() == "contexts: [] # hints\n"
    with pytest.raises(ContextNotFound, match="there are none yet"):
        edit.remove_context(path, "/")


def test_searches_are_saved_replaced_and_removed(path: Path) -> None:
    path.write_text("collections: []\n# mine\nsearches:\n  - name: work # daily\n    query: 'tag:work'\n")
    edit.save_search(path, SearchConfig(name="new", query='status:"in progress"\nvec: it\'s'))
    edit.save_search(path, SearchConfig(name="work", query="tag:work -status:done"))
    text = path.read_text()
    assert "# mine\n" in text
    assert "  - name: work # daily\n    query: 'tag:work -status:done'\n" in text
    saved = {"work": "tag:work -status:done", "new": 'status:"in progress"\nvec: it\'s'}
    assert load(path).config.saved_queries == saved
    with pytest.raises(SearchNotFound, match="did you mean 'work'"):
        edit.remove_search(path, "wrok")
    assert edit.remove_search(path, "work").query == "tag:work -status:done"
    assert edit.remove_search(path, "new").name == "new"
    assert load(path).config.searches == ()
