"""Stores texts unchanged: Markdown, other markups, data, source code."""

from __future__ import annotations

from gnod.ingest.code.languages import LANGUAGES, Language
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.result import Converted, unchanged
from gnod.ingest.reading.versions import versioned
from gnod.ingest.text.outline import Markup

# Languages without a parser: the name in `text/x-…`, the extensions, and after "/" complete file names.
_LANGUAGES = """
    ada adb ads; asm asm s; astro astro; awk awk; basic vb; batch bat cmd; clojure clj cljs; cmake cmake; cobol cob;
    coffee coffee; css css scss sass less; cython pyx; d d; dart dart; dockerfile dockerfile / dockerfile containerfile;
    ejs ejs; elixir ex exs; elm elm; erlang erl hrl; fish fish; fortran f f90 f95; fsharp fs; graphql graphql gql;
    groovy groovy gradle / jenkinsfile; haml haml; handlebars hbs; haskell hs lhs; hcl hcl;
    ini ini cfg conf cnf env service desktop editorconfig; jinja jinja j2; julia jl; just / justfile; kotlin kt kts;
    liquid liquid; lisp lisp el; lock lock; lua lua; makefile mk makefile / makefile gnumakefile; nim nim; nix nix;
    objective-c m mm; ocaml ml mli; pascal pas; perl pl pm; powershell ps1; procfile / procfile; prolog pro;
    properties properties; protobuf proto; pug pug; r r; racket rkt; scala scala; scheme scm; sed sed; solidity sol;
    sql sql; svelte svelte; swift swift; tcl tcl; template tmpl; terraform tf; thrift thrift; verilog v sv;
    vhdl vhd vhdl; vim vim; vue vue; wat wat; zig zig
"""


def _text(
    extensions: str,
    mime: str,
    markup: Markup = "plain",
    converter: str = "text/1",
    *,
    label: str = "plain text",
    file_names: str = "",
    remark: str = "",
) -> Converter:
    def read(content: FileContent) -> Converted:
        return unchanged(content.text(), converter=converter, markup=markup)

    return Converter(
        label=label,
        mime=mime,
        extensions=extensions,
        file_names=file_names,
        is_text=True,
        read=read,
        headings=markup == "markdown",
        location="line",
        remark=remark,
    )


def _unparsed(entry: str) -> Converter:
    words, _, names = entry.partition("/")
    language, *extensions = words.split()
    mime = f"text/x-{language}"
    return _text(" ".join(extensions), mime, converter=versioned("code"), label="source code", file_names=names)


def _parsed(language: Language) -> Converter:
    """Return the converter of a language whose definitions `gnod.ingest.code` finds."""
    return _text(
        language.extensions,
        language.mime,
        converter=versioned("code"),
        label="source code",
        file_names=language.file_names,
        remark="passages follow functions, classes and methods",
    )


PLAIN = _text("txt text asc log nfo readme changes po pot sub wiki mediawiki textile", "text/plain")

FORMATS = (
    PLAIN,
    _text("md markdown mdown mkd mkdn mdwn mdx qmd rmd", "text/markdown", "markdown", "markdown/1", label="Markdown"),
    _text("sty cls bib", "text/x-tex", label="source code"),
    _text("diff patch", "text/x-diff", label="source code"),
    _text("json jsonl ndjson geojson json5 jsonc webmanifest har", "application/json", label="data as text"),
    _text("yaml yml", "application/yaml", label="data as text"),
    _text("toml", "application/toml", label="data as text"),
    *map(_parsed, LANGUAGES),
    *map(_unparsed, _LANGUAGES.split(";")),
)
