"""`gnoctl search`, `vsearch`, `query`, `similar`: call the daemon and print the results. `gnoctl saved …`: searches
with a name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, TypeVar

from gnoctl.arguments.options import argument, declared, option
from gnoctl.arguments.plain_search_options import FILTERS, LIMIT, PEOPLE_LIMIT, PROGRAM_LIMIT, QUERY, split_commas
from gnoctl.arguments.references import absolute
from gnoctl.arguments.shared_options import (
    Csv,
    DocumentFilterOptions,
    Files,
    FilterOptions,
    Format,
    Markdown,
    Paths,
    Paths0,
    Xml,
    chosen_format,
    filter_values,
    print_documents,
)
from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.hits import ending, render
from gnoctl.printing.output import EXIT_NOTHING, NOTHING_INDEXED, note, print_json
from gnoctl.printing.wording import corrected, loosely, missed_by
from gnod.client.connection import Connection
from gnod.errors import UsageError
from gnod.protocol import search as wire
from gnod.protocol.base import NoParams
from gnod.types import FusionMethod

P = TypeVar("P", bound=wire.FilterParams)


class SearchOptions(FilterOptions, frozen=True, kw_only=True):
    limit: Annotated[wire.Limit | None, declared(LIMIT)] = None
    min_score: Annotated[
        wire.UnitScore, option("--min-score", "Leave out documents with a lower score, 0 to 1", group="Output")
    ] = 0.0
    full: Annotated[bool, option("--full", "Print whole documents instead of passages", group="Output")] = False
    line_numbers: Annotated[bool, option("--line-numbers", "Print line numbers", group="Output")] = False
    files: Files = False
    csv: Csv = False
    md: Markdown = False
    xml: Xml = False
    paths: Paths = False
    paths0: Paths0 = False

    @property
    def format(self) -> Format:
        return chosen_format(self)


class ExactOptions(SearchOptions, frozen=True, kw_only=True):
    query: Annotated[list[str], declared(QUERY)]
    passages: Annotated[
        wire.PassageLimit, option("--passages", "Show up to N passages of a document [default: 1]", "N", group="Output")
    ] = 1
    sort: Annotated[
        str | None,
        option(
            "--sort", "Sort by title, date, size or another field; -FIELD: descending; newest", "FIELD", group="Output"
        ),
    ] = None
    facets: Annotated[
        list[str],
        option(
            "--facets",
            "Count the values of these fields: tag,folder; * for those of the frontmatter",
            "FIELDS",
            group="Output",
        ),
    ] = []
    columns: Annotated[
        list[str],
        option(
            "--columns",
            "Print a table of these fields instead of passages: title,date,status",
            "FIELDS",
            group="Output",
        ),
    ] = []
    offset: Annotated[int, option("--offset", "Skip this many documents", ge=0, group="Output")] = 0
    exact: Annotated[bool, option("--exact", "Do not correct words that no document contains")] = False

    @property
    def text(self) -> str:
        return " ".join(self.query)

    @property
    def shown(self) -> dict[str, object]:
        return {
            "query": self.text,
            "passages": self.passages,
            "sort": self.sort,
            "facets": split_commas(self.facets),
            "columns": self.names,
            "offset": self.offset,
        }

    @property
    def names(self) -> list[str]:
        """The columns. Raises UsageError for a format without columns."""
        if self.columns and self.format not in ("people", "json", "csv"):
            raise UsageError(f"--columns cannot be used with --{self.format}: choose --csv or --json")
        return split_commas(self.columns)


class LooseOptions(ExactOptions, frozen=True, kw_only=True):
    loose: Annotated[
        bool, option("--loose", "Also print documents that are only loosely similar; --json marks them", group="Output")
    ] = False

    @property
    def shown(self) -> dict[str, object]:
        return {**super().shown, "loose": self.loose or (self.format == "json" and not self.columns)}


class HybridOptions(LooseOptions, frozen=True, kw_only=True):
    no_expand: Annotated[bool, option("--no-expand", "Do not let a model add query variants")] = False
    no_rerank: Annotated[bool, option("--no-rerank", "Do not let a model rerank the best documents")] = False
    no_floor: Annotated[bool, option("--no-floor", "Let reranking bury documents that contain the query's words")] = (
        False
    )
    candidates: Annotated[int, option("--candidates", "Rerank this many documents", "N")] = 20
    fusion: Annotated[
        FusionMethod, option("--fusion", "How to fuse both rankings: convex (by score) or rrf (by rank)", "METHOD")
    ] = "convex"
    budget: Annotated[float, option("--budget", "Time for the steps that run a model", "SECONDS")] = 2.0


class SimilarOptions(SearchOptions, frozen=True, kw_only=True):
    where: Annotated[
        str, option("--where", "Only documents with these fields: 'tag:work'", "FIELDS", group=FILTERS)
    ] = ""
    by_vectors: Annotated[bool, option("--by-vectors", "By meaning only, the most similar documents first")] = False
    ref: Annotated[str, argument("REF", "A #docid, gno://collection/path, collection/path, or a path on disk")]


@command("search", ExactOptions)
def search(options: ExactOptions) -> int:
    """Search by keyword.

    Documents that contain all words come first. Use "quotation marks" for a phrase and a minus sign to exclude
    documents with a word; put such a query in single quotes. Words are matched by their stem, in the language of each
    document. A word that no document contains is corrected, and the output says so, except in quotation marks and with
    --exact. part* finds words that begin with a part, *part* words that contain it.

    Fields narrow the search: title:word, path:, tag:, type:, author:, lang:, ext:, size:>10k, before:, after:, has:tag,
    symbol:name for definitions in code, and every field of the frontmatter, such as status:open or year:2020..2024. A
    minus excludes, a comma means "or". A query that has only fields lists the documents, newest first.

    The exit status is like that of rg: 0 if something was found, 1 if not, 2 after an error.

    Examples:
      gnoctl search rust error handling
      gnoctl search 'deploy "blue green" -kubernetes' -c notes -n 10
      gnoctl search invoice --since 30d --files
      gnoctl search invoice --paths0 | xargs -0 ls -l
      gnoctl search 'invoice tag:tax -status:paid year:2024..' --sort -modified
      gnoctl search 'tag:work' --facets tag,type
      gnoctl search 'type:decision author:mara date:2026' --columns title,date,status
    """
    params = _params(options, wire.SearchLexicalParams, **options.shown, exact=options.exact)
    return _find(options, "search.lexical", params, nothing=f"No results for {options.text}")


@command("vsearch", LooseOptions)
def vsearch(options: LooseOptions) -> int:
    """Search by meaning (vector search).

    Finds passages that mean the same as the query, even if they share no word with it; with a multilingual model, also
    in other languages. Quotation marks and minus signs are not operators here. A word that no document contains is
    corrected, except with --exact. For names and exact words, use `gnoctl search`. Needs an embedding model: `gnoctl
    models pull embed` downloads it.

    Examples:
      gnoctl vsearch how do we bring a release to production
      gnoctl vsearch 'what to do when the disk is full' -c notes -n 10
      gnoctl vsearch complaints about delivery --since 30d --min-score 0.7 --files
      gnoctl vsearch what to do when the disk is full --paths | head -n 1
    """
    params = _params(options, wire.SearchVectorParams, **options.shown, exact=options.exact)
    return _find(options, "search.vector", params, nothing=f"No results for {options.text}")


@command("query", HybridOptions)
def query(options: HybridOptions) -> int:
    """Search by keyword and by meaning, in one ranking.

    Type words or a question. Documents must contain "quoted words"; -word excludes documents. Which steps run depends
    on the installed models: with none it is a keyword search; with more, a model also adds query variants and reranks
    the best documents. `--explain` shows every step, and why a step did not run.

    In a query of several lines, each line names its search: `lex:` by keyword, `vec:` by meaning, `hyde:` for a passage
    that would answer.

    Examples:
      gnoctl query how do we bring a release to production
      gnoctl query 'restore "point in time" -mysql' -c notes -n 10 --explain
      gnoctl query 'who approves a budget author:ada after:2026-01' --facets collection
      gnoctl query 'release title:"blue green" -tag:old'
      gnoctl query $'lex: "blue green" deploy\\nvec: switching traffic to a new version without downtime'
      gnoctl query how do we rotate the keys --paths | fzf
    """
    params = _params(
        options,
        wire.SearchQueryParams,
        **options.shown,
        expand=not options.no_expand,
        rerank=not options.no_rerank,
        floor=not options.no_floor,
        candidates=options.candidates,
        fusion=options.fusion,
        budget_s=options.budget,
        exact=options.exact,
    )
    return _find(options, "search.query", params, nothing=f"No results for {options.text}", shows_progress=True)


@command("similar", SimilarOptions)
def similar(options: SimilarOptions) -> int:
    """Find documents related to a document: by meaning, and by links.

    Finds similar documents, documents that it links to, documents that link to it, and documents that others link to
    together with it; the output says why. Near-copies of a hit come later. The document itself and its copies are left
    out. --by-vectors shows only the most similar documents; then the document must have vectors, and --fresh waits for
    them.

    Examples:
      gnoctl similar notes/deploy.md
      gnoctl similar '#a1b2c3d4' -c papers -n 10
      gnoctl similar ./draft.md --fresh --files
      gnoctl similar ./draft.md --paths0 | xargs -0 grep -l 2026
    """
    by = "vectors" if options.by_vectors else "all"
    params = _params(options, wire.SearchSimilarParams, ref=absolute(options.ref), where=options.where, by=by)
    return _find(options, "search.similar", params, nothing=f"No documents are similar to {options.ref}")


def _params(options: SearchOptions, kind: type[P], **more: object) -> P:
    """Return the parameters of a search; `more`: the parameters that this kind adds."""
    limit = options.limit or (PEOPLE_LIMIT if options.format == "people" else PROGRAM_LIMIT)
    values = {**filter_values(options), **more}
    return kind(limit=limit, min_score=options.min_score, full=options.full, **values)  # type: ignore[arg-type]


def _find(
    options: SearchOptions, method: str, params: wire.FilterParams, *, nothing: str, shows_progress: bool = False
) -> int:
    """Search, print the hits, and return the exit status. `nothing`: the message if there are none."""
    people = options.format == "people"
    with options.connect() as daemon:
        if shows_progress and people:
            with options.progress() as progress:
                result = daemon.call(method, params, wire.SearchResult, on_progress=progress)
        else:
            result = daemon.call(method, params, wire.SearchResult)
        if people and not (result.hits or result.rows):
            note(f"{nothing}: {loosely(result.loose)} (--loose)" if result.loose else nothing)
            for line in corrected(result.corrections):
                note(line)
            for hint in result.hints:
                note(hint)
            _explain_nothing(result, params, daemon)
            return EXIT_NOTHING
    if isinstance(params, wire.SearchParams) and params.columns:
        _print_rows(options, result, params)
    else:
        lines = render(result, options.terminal, line_numbers=options.line_numbers)
        print_documents(options.format, result, result.hits, lines)
    if options.format not in ("people", "json"):
        for remark in (missed_by(result.freshness), result.loose and f"{loosely(result.loose)} (--loose)"):
            if remark:
                options.note(remark)
    return 0 if result.hits or result.rows else EXIT_NOTHING


def _print_rows(options: SearchOptions, result: wire.SearchResult, params: wire.SearchParams) -> None:
    from gnoctl.printing import records

    names = params.columns
    if options.format == "json":
        print_json(result)
    elif options.format == "csv":
        sys.stdout.writelines(records.rows_as_csv(result.rows or [], names))
    else:
        table = records.rows_as_table(result.rows or [], names, options.terminal)
        for line in (*table, *ending(result, options.terminal)):
            print(line)
    last = params.offset + len(result.rows or [])
    if last < result.total and options.format != "json":
        options.note(f"{result.total - last:,} more: --offset {last}")


def _explain_nothing(result: wire.SearchResult, params: wire.FilterParams, daemon: Connection) -> None:
    if result.total and isinstance(params, wire.SearchParams) and params.offset:
        note(f"All {result.total:,} documents are before --offset {params.offset}")
    if missed := missed_by(result.freshness):
        note(missed)
    elif not _has_collections(daemon):
        note(NOTHING_INDEXED)
    elif params.min_score:
        note(f"Documents with a score below {params.min_score:g} are left out (--min-score)")


def _has_collections(daemon: Connection) -> bool:
    from gnod.protocol.collections import CollectionListResult

    listed = daemon.call("collection.list", NoParams(), CollectionListResult)
    return bool(listed.collections or listed.attached)


class SaveOptions(DocumentFilterOptions, frozen=True, kw_only=True):
    name: Annotated[str, argument("NAME", "Lower-case letters, digits, - and _")]
    query: Annotated[list[str], argument("QUERY", "What to search for; fields are part of it")]


@command("saved add", SaveOptions)
def save(options: SaveOptions) -> None:
    """Save a search under a name.

    `@name` at the beginning of a query then means this search, in every search, in `ask`, in editors and for agents;
    more words may follow. Filters become fields of the query. A search with the same name is replaced. Saved searches
    are in index.yml.

    Examples:
      gnoctl saved add todo 'tag:work -status:done'
      gnoctl saved add papers 'year:2020.. ext:pdf' -c papers
      gnoctl search @todo invoice --sort -modified
    """
    params = wire.SearchSaveParams(name=options.name, query=" ".join(options.query), **filter_values(options))  # type: ignore[arg-type]
    result = options.call("search.save", params, wire.SearchSaveResult)
    options.show(result, _saved(result.search))


@command("saved list", JsonOptions)
def list_searches(options: JsonOptions) -> None:
    """List the saved searches."""
    result = options.call("search.list", NoParams(), wire.SearchListResult)
    options.show(result, _saved_searches(result))


def _saved_searches(result: wire.SearchListResult) -> Iterator[str]:
    if not result.searches:
        note("No search is saved yet: run `gnoctl saved add NAME QUERY`")
    width = max((text.cells(search.name) for search in result.searches), default=0)
    for each in result.searches:
        yield _saved(each, width)


def _saved(search: wire.SavedSearch, width: int = 0) -> str:
    return f"@{text.pad(search.name, width)}  {text.line(search.query)}"


class ForgetSearchOptions(JsonOptions, frozen=True, kw_only=True):
    name: Annotated[str, argument("NAME", "The name of the search")]


@command("saved remove", ForgetSearchOptions)
def remove_saved(options: ForgetSearchOptions) -> None:
    """Remove a saved search."""
    params = wire.SearchRemoveParams(name=options.name.removeprefix("@"))
    result = options.call("search.remove", params, wire.SearchRemoveResult)
    options.show(result, f"removed {_saved(result.removed)}")
