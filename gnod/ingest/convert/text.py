"""Texts that are stored as they are: Markdown, other markups, data, source code."""

from __future__ import annotations

from gnod.ingest.convert.converter import Converter, FileContent
from gnod.ingest.convert.result import Converted, unchanged
from gnod.ingest.outline import Markup

# A language's name in `text/x-…`, its extensions, and after "/" whole file names.
_LANGUAGES = """
    ada adb ads; asm asm s; astro astro; awk awk; basic vb; batch bat cmd; c c h; c++ cc cpp cxx hpp hh hxx;
    clojure clj cljs; cmake cmake; cobol cob; coffee coffee; csharp cs; css css scss sass less; cython pyx; d d;
    dart dart; dockerfile dockerfile / dockerfile containerfile; ejs ejs; elixir ex exs; elm elm; erlang erl hrl;
    fortran f f90 f95; fsharp fs; go go; graphql graphql gql; groovy groovy gradle / jenkinsfile; haml haml;
    handlebars hbs; haskell hs lhs; hcl hcl; ini ini cfg conf cnf env service desktop editorconfig; java java;
    javascript js mjs cjs jsx; jinja jinja j2; julia jl; just / justfile; kotlin kt kts; liquid liquid;
    lisp lisp el; lock lock; lua lua; makefile mk makefile / makefile gnumakefile; nim nim; nix nix;
    objective-c m mm; ocaml ml mli; pascal pas; perl pl pm; php php; powershell ps1; procfile / procfile;
    prolog pro; properties properties; protobuf proto; pug pug; python py pyi bzl; r r; racket rkt;
    ruby rb / rakefile gemfile vagrantfile brewfile; rust rs; scala scala; scheme scm; sed sed;
    shell sh bash zsh fish; solidity sol; sql sql; svelte svelte; swift swift; tcl tcl; template tmpl;
    terraform tf; thrift thrift; typescript ts tsx; verilog v sv; vhdl vhd vhdl; vim vim; vue vue; wat wat;
    zig zig
"""


def _text(
    extensions: str,
    mime: str,
    markup: Markup = "plain",
    converter: str = "text/1",
    *,
    label: str = "plain text",
    file_names: str = "",
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
    )


def _code(entry: str) -> Converter:
    words, _, names = entry.partition("/")
    language, *extensions = words.split()
    mime = f"text/x-{language}"
    return _text(" ".join(extensions), mime, converter="code/1", label="source code", file_names=names)


PLAIN = _text("txt text asc log nfo readme changes po pot sub wiki mediawiki textile", "text/plain")

FORMATS = (
    PLAIN,
    _text("md markdown mdown mkd mkdn mdwn mdx qmd rmd", "text/markdown", "markdown", "markdown/1", label="Markdown"),
    _text("sty cls bib", "text/x-tex", label="source code"),
    _text("diff patch", "text/x-diff", label="source code"),
    _text("json jsonl ndjson geojson json5 jsonc webmanifest har", "application/json", label="data as text"),
    _text("yaml yml", "application/yaml", label="data as text"),
    _text("toml", "application/toml", label="data as text"),
    *map(_code, _LANGUAGES.split(";")),
)
