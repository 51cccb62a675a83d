"""What a file's extension says: how its text is to be read, its MIME type, or that there is none."""

from __future__ import annotations

from typing import NamedTuple


class TextFormat(NamedTuple):
    """`reader` is one of `dispatch`; `converter` is recorded of a text that is kept as it is."""

    reader: str
    mime: str
    converter: str = "text/1"


PLAIN = TextFormat("text", "text/plain")
HTML = TextFormat("html", "text/html")
MAIL = TextFormat("mail", "message/rfc822")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _each(extensions: str, reader: str, mime: str, converter: str = "text/1") -> dict[str, TextFormat]:
    return dict.fromkeys(extensions.split(), TextFormat(reader, mime, converter))


def _code(pairs: str) -> dict[str, TextFormat]:
    """`py python` lines: an extension and the language's word in `text/x-…`."""
    words = pairs.split()
    return {
        extension: TextFormat("text", f"text/x-{language}", "code/1")
        for extension, language in zip(words[::2], words[1::2], strict=True)
    }


TEXT: dict[str, TextFormat] = {
    **_each("md markdown mdown mkd mkdn mdwn mdx qmd rmd", "text", "text/markdown", "markdown/1"),
    **_each("txt text asc log nfo readme changes po pot srt sub wiki mediawiki textile", "text", "text/plain"),
    **_each("rst rest", "text", "text/x-rst"),
    **_each("adoc asciidoc", "text", "text/asciidoc"),
    **_each("org", "text", "text/org"),
    **_each("tex ltx sty cls bib", "text", "text/x-tex"),
    **_each("vtt", "text", "text/vtt"),
    **_each("ics ifb", "text", "text/calendar"),
    **_each("vcf", "text", "text/vcard"),
    **_each("diff patch", "text", "text/x-diff"),
    **_each("json jsonl ndjson geojson json5 jsonc webmanifest har", "text", "application/json"),
    **_each("yaml yml", "text", "application/yaml"),
    **_each("toml", "text", "application/toml"),
    **_each("xml rdf xsd xsl xslt wsdl opml plist gpx kml dita xliff rss atom fodt fods fodp", "xml", "text/xml"),
    **_each("html htm xhtml shtml", "html", "text/html"),
    **_each("csv", "table", "text/csv"),
    **_each("tsv tab", "table", "text/tab-separated-values"),
    **_each("ipynb", "notebook", "application/x-ipynb+json"),
    **_each("eml mht mhtml", "mail", "message/rfc822"),
    **_each("mbox mbx", "mail", "application/mbox"),
    **_code(
        "py python pyi python pyx cython rb ruby pl perl pm perl php php js javascript mjs javascript "
        "cjs javascript jsx javascript ts typescript tsx typescript vue vue svelte svelte astro astro c c "
        "h c cc c++ cpp c++ cxx c++ hpp c++ hh c++ hxx c++ m objective-c mm objective-c cs csharp "
        "fs fsharp vb basic java java kt kotlin kts kotlin scala scala groovy groovy gradle groovy "
        "clj clojure cljs clojure go go rs rust swift swift zig zig nim nim d d dart dart lua lua r r "
        "jl julia hs haskell lhs haskell ml ocaml mli ocaml elm elm ex elixir exs elixir erl erlang "
        "hrl erlang lisp lisp el lisp scm scheme rkt racket f fortran f90 fortran f95 fortran pas pascal "
        "adb ada ads ada cob cobol asm asm s asm sh shell bash shell zsh shell fish shell ps1 powershell "
        "bat batch cmd batch awk awk sed sed tcl tcl sql sql graphql graphql gql graphql proto protobuf "
        "thrift thrift css css scss css sass css less css cmake cmake mk makefile dockerfile dockerfile "
        "tf terraform hcl hcl nix nix bzl python v verilog sv verilog vhd vhdl vhdl vhdl sol solidity "
        "wat wat vim vim ini ini cfg ini conf ini cnf ini properties properties env ini service ini "
        "desktop ini editorconfig ini lock lock pro prolog coffee coffee jinja jinja j2 jinja "
        "tmpl template hbs handlebars ejs ejs haml haml pug pug liquid liquid"
    ),
}

NAMES: dict[str, TextFormat] = _code(
    "makefile makefile gnumakefile makefile dockerfile dockerfile containerfile dockerfile "
    "jenkinsfile groovy rakefile ruby gemfile ruby vagrantfile ruby procfile procfile justfile just "
    "brewfile ruby"
)

# Binary formats with a reader and a signature: a file of such a name without that signature is damaged.
SIGNED = _words("pdf docx docm dotx dotm pptx pptm xlsx xlsm xltx xltm epub zip msg")

# Names often given to other things: a table that a web site calls .xls is HTML or tab-separated text.
LEGACY = _words("doc dot xls xlt ppt pps")

UNREADABLE = _words(
    "png jpg jpeg jpe gif bmp tif tiff webp heic heif avif ico icns psd ai eps svg svgz raw cr2 nef dng "
    "xcf mp3 m4a aac ogg oga opus flac wav wma aiff aif mid midi mp4 m4v mov avi mkv webm wmv flv mpg "
    "mpeg 3gp gz tgz bz2 tbz xz txz zst lz4 lzma 7z rar tar cpio ar jar war ear apk ipa whl egg deb rpm "
    "dmg iso img pkg cab rtf odt ods odp odg odf ott pages numbers key one onetoc2 pub vsd vsdx mpp wps "
    "wpd hwp xlsb xps oxps chm djvu mobi azw azw3 fb2 ps lit accdb mdb db sqlite sqlite3 dbf pst ost p7m "
    "p7s gpg pgp tsd exe dll so dylib o a lib class pyc pyo pyd wasm bin dat msi com elc beam ttf otf "
    "woff woff2 eot pfb npy npz pkl pickle parquet feather arrow h5 hdf5 onnx pt pth safetensors gguf "
    "tflite dwg dxf stl blend fbx glb 3ds swf fla sketch fig"
)
