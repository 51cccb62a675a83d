"""Notes from real vaults: nested tags, links in properties, dates, titles and aliases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gnod.protocol.search import Hit, SearchParams
from gnod.search.fields import field_values
from gnod.search.keyword import lexical
from gnod.search.query.parsing import parse_clauses
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.hits import wire_hits
from tests.search.fields.test_fields import found
from tests.small_index import SmallIndex

VAULT = {
    "iceland.md": "---\ntags: [voyage/iceland]\ncategories: '[[Trips]]'\ntype: ['[[Parks]]', '[[Shrines]]']\n---\ntext",
    "south.md": "---\ntags: [Voyage/Iceland/South, İş]\ncategories: ['[[Books|mine]]', Trips]\ndraft: yes\n---\ntext",
    "faroe.md": "Inline #voyage/faroe text\n\ncategories:: [[lists/Books]], [[Trips]]\nauthors:: Ada, Bob",
    "voyager.md": "---\ntags: voyager\ntype: Park\ncreated: 2019-05-04\nupdated: 2024-01-01\ndraft: true\n---\ntext",
    "Recovery.md": "---\naliases: [Undelete, Time Machine]\n---\n## Recover a snapshot\n\nOpen the settings.\n",
    "Log.md": "- [ ] a task [created:: 2019-05-04]\n\n# Monday\n\ntext\n\n# Tuesday\n\nmore settings",
    "Plan.md": "# A *plan* for [May](May.md)\n\n## Part\n\n### Detail\n\nthe widest settings",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    index = SmallIndex(tmp_path_factory.mktemp("vault") / "index.sqlite")
    index.add(VAULT)
    yield index
    index.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tag:voyage", "faroe iceland south"),
        ("tag:#VOYAGE/", "faroe iceland south"),
        ("tag:voyage/iceland", "iceland south"),
        ("tag:voyage*", "faroe iceland south voyager"),
        ("tag:*/south", "south"),
        ("tag:voyage -tag:voyage/iceland text", "faroe"),
        ("tag:IS,iŞ", "south"),
        ("categories:books", "faroe south"),
        ('categories:"[[Books]]"', "faroe south"),
        ("categories:trips", "faroe iceland south"),
        ("type:parks", "iceland"),
        ("type:shrine*", "iceland"),
        ("type:park", "voyager"),
        ("type:par*", "iceland voyager"),
        ("author:bob", "faroe"),
        ("draft:true", "south voyager"),
        ("draft:yes", "south voyager"),
        ("date:2019", "voyager"),
        ("date:2019-05-04", "voyager"),
        ("created:2019-05-04", "Log voyager"),
        ("title:recovery", "Recovery"),
        ("title:undelete", "Recovery"),
        ('title:"time machine"', "Recovery"),
        ("title:snapshot", ""),
        ("title:monday", ""),
        ("title:plan title:may", "Plan"),
    ],
)
def test_fields_mean_what_the_owner_means(vault: SmallIndex, query: str, expected: str) -> None:
    assert sorted(found(vault, query)) == sorted(f"{name}.md" for name in expected.split())


def test_filters_compare_as_fields_do(vault: SmallIndex) -> None:
    assert set(vault.search("text", Filters(tags_all=("voyage",)))) == {"iceland.md", "south.md", "faroe.md"}
    assert vault.search("text", Filters(tags_any=("nothing", "voyage/iceland/south"))) == ["south.md"]
    assert vault.search("text", Filters(types=("shrines",))) == ["iceland.md"]
    assert vault.search("text", Filters(types=("park", "other"))) == ["voyager.md"]


def test_facets_count_parents_and_each_value(vault: SmallIndex) -> None:
    ids = [id_ for id_, *_ in documents.addresses(vault.reader)]
    counts = field_values.count(vault.reader, ["tag", "categories", "type", "author"], ids)
    assert {name: [(each.value, each.documents) for each in values] for name, values in counts.items()} == {
        "tag": [
            *(("Voyage", 3), ("Voyage/Iceland", 2)),
            *(("İş", 1), ("voyage/faroe", 1), ("Voyage/Iceland/South", 1), ("voyager", 1)),
        ],
        "categories": [("Trips", 3), ("Books", 2)],
        "type": [("Park", 1), ("Parks", 1), ("Shrines", 1)],
        "author": [("Ada, Bob", 1)],
    }


def hits(index: SmallIndex, query: str) -> dict[str, Hit]:
    clauses = parse_clauses(query)
    ranked = lexical.search(index.reader, clauses, Filters(), limit=20).ranked
    words = lexical.expression_of(index.reader, clauses)
    return {hit.path: hit for hit in wire_hits(index.reader, ranked, words, SearchParams(query=query))}


def test_a_hit_names_its_title_and_the_section(vault: SmallIndex) -> None:
    shown = {path: (hit.title, hit.heading) for path, hit in hits(vault, "settings").items()}
    assert shown == {
        "Recovery.md": ("Recovery", "Recover a snapshot"),
        "Log.md": ("Log", "Tuesday"),
        "Plan.md": ("A *plan* for May", "Part > Detail"),
    }


def test_a_hit_has_the_tags_as_written_and_says_where_its_date_is_from(vault: SmallIndex) -> None:
    found = hits(vault, "text")
    assert found["south.md"].tags == ["İş", "Voyage/Iceland/South"]
    assert (found["voyager.md"].date[:10], found["voyager.md"].dated_by) == ("2019-05-04", "created")
    assert (found["Log.md"].date, found["Log.md"].dated_by) == (found["Log.md"].modified, None)


_EVERGREEN = "Evergreen notes turn ideas into objects that you can manipulate"


def real(folder: Path, tmp_path: Path) -> SmallIndex:
    index = SmallIndex(tmp_path / "vault.sqlite")
    index.add({str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(folder.rglob("*.md"))})
    return index


@pytest.mark.slow
def test_a_real_vault_of_links(corpora: Path, tmp_path: Path) -> None:
    index = real(corpora / "vaults" / "kepano", tmp_path)
    assert len(found(index, "categories:books")) == 3
    assert found(index, "type:shrines") == found(index, "type:parks") == {"References/Fushimi Inari.md"}
    assert found(index, "tag:music") == found(index, "tag:music/genres") != set()
    assert found(index, "date:2022-09") == {f"Notes/{_EVERGREEN}.md"}
    ids = [id_ for id_, *_ in documents.addresses(index.reader)]
    counts = field_values.count(index.reader, ["categories", "tag", "type", "author", "topics"], ids)
    assert all(counts.values())
    assert not any("[[" in each.value for values in counts.values() for each in values)
    index.close()


@pytest.mark.slow
def test_a_real_vault_of_pages(corpora: Path, tmp_path: Path) -> None:
    index = real(corpora / "vaults" / "help" / "en", tmp_path)
    titles = index.rows("SELECT path, title FROM documents")
    wrong = {path: title for path, title in titles if title != Path(str(path)).stem}
    assert wrong == {"Home.md": "Obsidian Help"}
    assert found(index, 'title:"version history"') == {"Obsidian Sync/Version history.md"}
    assert "Editing and formatting/Tags.md" in found(index, 'title:"working with tags"')
    hit = hits(index, '"recover a snapshot"')["Plugins/File recovery.md"]
    assert (hit.title, hit.heading) == ("File recovery", "Recover a snapshot")
    index.close()
