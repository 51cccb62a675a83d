"""Translates LaTeX to Markdown: headings, text, listings; formulas stay unchanged. Included files are not read."""

from __future__ import annotations

import re
import unicodedata

from gnod.ingest.formats.markups.line_by_line import Translation, markup

_TOKEN = re.compile(
    r"\\begin\s*\{(?P<begin>[^{}\n]{1,60})\}|\\end\s*\{(?P<end>[^{}\n]{1,60})\}"
    r"|\\verb\*?(?P<mark>[^\sA-Za-z*])(?P<verb>[^\n]{0,1000}?)(?P=mark)"
    r"|\\(?P<formula>[\[(])|\\(?P<command>[A-Za-z@]+)\*?[ \t]*|\\(?P<symbol>.)"
    r"|(?P<comment>%[^\n]*)|(?P<brace>[{}])|(?P<dollar>\$\$?)|(?P<break>\n[ \t]*)|(?P<text>[^\\%{}$\n]+|\\\Z|\\(?=\n))"
)
_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection")
_USED_LEVEL = re.compile(r"\\(part|chapter|(?:sub){0,2}section)\*?\s*[\[{]")
# The Markdown before and after the argument of a command.
_AROUND = {
    **dict.fromkeys(("paragraph", "subparagraph", "textbf"), ("**", "**")),
    **dict.fromkeys(("emph", "textit"), ("*", "*")),
    **dict.fromkeys(("texttt", "lstinline", "code", "path"), ("`", "`")),
    **dict.fromkeys(("footnote", "thanks"), (" (", ")")),
}
_LISTINGS = frozenset({"verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "alltt"})
_FORMULAS = frozenset(
    {"equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "flalign", "alignat"}
)
# Commands with one or two arguments that are not text.
_ONE = """
    addbibresource autocite autoref bibitem bibliography bibliographystyle cite citep citet color cref Cref
    documentclass eqref fontsize graphicspath hspace hypersetup include includegraphics index input label lstset nocite
    pagenumbering pageref pagestyle parencite phantom ref setcounter textcite textcolor thispagestyle usepackage vspace
"""
_TWO = "addcontentsline addtolength definecolor newcommand newenvironment providecommand renewcommand setlength"
_WITHOUT_TEXT = {**dict.fromkeys(_ONE.split(), 1), **dict.fromkeys(_TWO.split(), 2)}
_BEGIN_ARGUMENTS = {
    **dict.fromkeys(["tabular", "longtable", "minipage", "multicols", "thebibliography"], 1),
    **dict.fromkeys(["tabular*", "tabularx"], 2),
}
_LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł",
    "i": "i", "ldots": "…", "dots": "…", "textbackslash": "\\", "LaTeX": "LaTeX", "TeX": "TeX", "quad": " ",
    "textendash": "–", "textemdash": "—", "S": "§", "copyright": "©", "textasciitilde": "~", "euro": "€", "pounds": "£",
    "qquad": " ", "textquotedblleft": "“", "textquotedblright": "”",
}  # fmt: skip
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307"}
_LETTER_ACCENTS = {"c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "r": "\u030a", "k": "\u0328"}
_OPTIONS = re.compile(r"[ \t]*\[[^\[\]\n]{0,500}\]")
_ACCENTED = re.compile(r"\{?\\?([A-Za-z])\}?")
_LANGUAGE = re.compile(r"language\s*=\s*\{?(\w[\w+#-]*)")
_LONGEST_ARGUMENT = 1000  # limits the read-ahead, so that nested arguments are not slow
_BRACE = re.compile(r"(?<!\\)[{}]")
_QUOTES = (("``", "“"), ("''", "”"), ("---", "—"), ("--", "–"), ("~", " "))


class _LatexReader:
    """Translates the tokens in one pass. `_closing` has the Markdown for the end of each open brace. Line breaks are
    always written."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._out: list[str] = []
        self._closing: list[str] = []
        self._is_body = "\\begin{document}" not in text
        used = set(_USED_LEVEL.findall(text))
        self._levels = [level for level in _LEVELS if level in used]
        self.author = ""

    def read(self) -> str:
        while self._at < len(self._text):
            found = _TOKEN.match(self._text, self._at)
            assert found, self._text[self._at : self._at + 20]
            self._at = found.end()
            self._token(found)
        return "".join(self._out)

    def _token(self, found: re.Match[str]) -> None:
        if found["text"]:
            text = found["text"]
            for old, new in _QUOTES:
                text = text.replace(old, new)
            self._write(text)
        elif found["break"]:
            self._out.append(found["break"])
        elif found["begin"]:
            self._begin(found["begin"], found.start())
        elif found["command"]:
            self._command(found["command"])
        elif found["brace"]:
            self._brace(found["brace"])
        elif found["dollar"] or found["formula"]:
            self._formula(found)
        elif found["symbol"]:
            self._symbol(found["symbol"])
        elif found["verb"] is not None:
            self._write(f"`{found['verb']}`")
        elif found["end"] == "document":
            self._is_body = False

    def _write(self, text: str) -> None:
        if self._is_body:
            self._out.append(text)

    def _brace(self, brace: str) -> None:
        if brace == "{":
            self._closing.append("")
        elif self._closing:
            self._write(self._closing.pop())

    def _begin(self, name: str, start: int) -> None:
        if name == "document":
            self._is_body = True
        elif name in _LISTINGS or name == "comment" or name.rstrip("*") in _FORMULAS:
            self._verbatim(name, start)
        else:
            self._skip_options()
            self._hide_arguments(_BEGIN_ARGUMENTS.get(name, 0))

    def _verbatim(self, name: str, start: int) -> None:
        """Read an environment to its end. Copy code in a fence and formulas with their commands; leave out comments."""
        end = self._text.find(f"\\end{{{name}}}", self._at)
        end = len(self._text) if end < 0 else end
        content = self._text[self._at : end]
        self._at = min(len(self._text), end + len(f"\\end{{{name}}}"))
        if name in _LISTINGS:
            head, _, rest = content.partition("\n")
            language = _LANGUAGE.search(head) or re.search(r"\{(\w+)\}", head)
            fence = "~~~~" if "```" in content else "```"
            content = f"{fence}{language[1].lower() if language else ''}\n{rest.rstrip(' ')}{fence}"
        elif name != "comment":
            content = self._text[start : self._at]
        if name == "comment" or not self._is_body:
            content = "\n" * content.count("\n")
        self._out.append(content)

    def _formula(self, found: re.Match[str]) -> None:
        """Copy a formula. If its end is missing, the mark is text."""
        opening = found[0]
        closing = {"\\[": "\\]", "\\(": "\\)"}.get(opening, opening)
        end = self._text.find(closing, self._at, self._at + 5000)
        content = self._text[found.start() : end + len(closing)] if end >= 0 else opening
        if "\n\n" in content:  # a formula ends before an empty line
            content = opening
        self._at = found.start() + len(content)
        self._out.append(content if self._is_body else "\n" * content.count("\n"))

    def _symbol(self, symbol: str) -> None:
        accent = _ACCENTS.get(symbol)
        if accent and (letter := _ACCENTED.match(self._text, self._at)):
            self._at = letter.end()
            self._write(unicodedata.normalize("NFC", letter[1] + accent))
        elif symbol == "\n":
            self._out.append("\n")
        elif symbol in "%&_#${}":
            self._write(symbol)
        elif symbol in " ,;:\\":
            self._write(" ")

    def _command(self, name: str) -> None:
        if name in _LETTER_ACCENTS and (letter := _ACCENTED.match(self._text, self._at)) and letter[0][:1] == "{":
            self._at = letter.end()
            self._write(unicodedata.normalize("NFC", letter[1] + _LETTER_ACCENTS[name]))
        elif name in _LETTERS:
            self._write(_LETTERS[name])
        elif name == "item":
            self._write("- ")
            self._option_as_text()
        elif name == "title":
            self._title()
        elif name == "author":
            self._author()
        elif name == "href":
            self._link()
        else:
            self._skip_options()
            self._wrap(name)

    def _wrap(self, name: str) -> None:
        """Write the Markdown for a command, and record the Markdown for the end of its argument."""
        before, after = _AROUND.get(name, ("", ""))
        if name in self._levels:
            before = "#" * (self._levels.index(name) + 2) + " "
        elif name in _WITHOUT_TEXT:
            self._hide_arguments(_WITHOUT_TEXT[name])
            return
        if before and self._text.startswith("{", self._at):
            self._at += 1
            self._write(before)
            self._closing.append(after)

    def _title(self) -> None:
        """Write the title as text, even in the preamble."""
        if self._text.startswith("{", self._at):
            self._out.append("# ")
            self._nested(self._argument())

    def _author(self) -> None:
        argument = self._argument()
        if name := " ".join(re.sub(r"\\(?:thanks|footnote)\{[^{}]*\}|\\[A-Za-z]+|[{}]|\\\\", " ", argument).split()):
            self.author = name[:200]
        self._out.append("\n" * argument.count("\n"))

    def _nested(self, argument: str) -> None:
        reader = _LatexReader(argument)
        reader._is_body = True
        self._out.append(reader.read())

    def _link(self) -> None:
        address = self._argument()
        if self._text.startswith("{", self._at):
            self._at += 1
            self._write("[")
            self._closing.append(f"]({address.strip()})")
        self._out.append("\n" * address.count("\n"))

    def _hide_arguments(self, count: int) -> None:
        for _ in range(count):
            argument = self._argument()
            self._out.append("\n" * argument.count("\n"))
            self._skip_options()

    def _argument(self) -> str:
        """Return the content of the braces that begin here; "" if there are none."""
        if not self._text.startswith("{", self._at):
            return ""
        start = self._at + 1
        depth = 0
        for brace in _BRACE.finditer(self._text, self._at, self._at + _LONGEST_ARGUMENT):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                self._at = brace.end()
                return self._text[start : brace.start()]
        return ""

    def _skip_options(self) -> None:
        if found := _OPTIONS.match(self._text, self._at):
            self._at = found.end()

    def _option_as_text(self) -> None:
        if found := _OPTIONS.match(self._text, self._at):
            self._at = found.end()
            self._nested(found[0].strip()[1:-1])


def _translate(to: Translation) -> None:
    reader = _LatexReader("\n".join(to.source))
    lines = reader.read().split("\n")
    to.lines[:] = [line.rstrip() for line in lines]
    if reader.author:
        to.metadata["author"] = reader.author


LATEX = markup("a LaTeX text", "text/x-tex", "tex ltx", "latex/1", _translate)
