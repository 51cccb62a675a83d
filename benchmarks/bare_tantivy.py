"""Index the same terms with tantivy, for comparison. Needs `pip install tantivy`; gnod itself does not use it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gnod.analysis.terms import Analyzer
from gnod.search.keyword import expression
from gnod.search.query.parsing import parse_clauses

TITLE_BOOST = 3.0
_WRITER_BYTES = 200_000_000


def is_installed() -> bool:
    return find_spec("tantivy") is not None


class BareTantivy:
    """An index of titles and bodies, which are terms separated by white space. Only the document number is stored."""

    def __init__(self, folder: Path) -> None:
        tantivy: Any = import_module("tantivy")
        self._tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        for field in ("title", "body"):
            builder.add_text_field(field, tokenizer_name="whitespace", index_option="position")
        builder.add_integer_field("number", stored=True)
        self._schema = builder.build()
        folder.mkdir()
        self._index = tantivy.Index(self._schema, path=str(folder))
        self._writer = self._index.writer(_WRITER_BYTES, 1)
        self._analyzer = Analyzer("en")

    def add(self, number: int, title: str, body: str) -> None:
        self._writer.add_document(self._tantivy.Document(title=title, body=body, number=number))

    def finish(self) -> None:
        self._writer.commit()
        self._writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, query: str, limit: int = 10) -> list[int]:
        """Return the numbers of the best documents with any term of the query, best first."""
        make, subqueries = self._tantivy.Query, []
        for term in self._terms(query):
            for field, boost in (("title", TITLE_BOOST), ("body", 1.0)):
                one = make.term_query(self._schema, field, term, "freq")
                subqueries.append((self._tantivy.Occur.Should, make.boost_query(one, boost)))
        found = self._searcher.search(make.boolean_query(subqueries), limit, count=False)
        return [self._searcher.doc(address)["number"][0] for _, address in found.hits]

    def _terms(self, query: str) -> list[str]:
        built = expression.build(parse_clauses(query), [self._analyzer])
        return list(dict.fromkeys(term for variants in built.query_terms() for each in variants for term in each))
