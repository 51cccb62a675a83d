"""A folder of generated documents that keeps changing, for the crash and soak runs.

The documents are text, Markdown, HTML, DOCX and PDF; some share their content, some are damaged. The same seed makes
the same documents and the same changes.
"""

from __future__ import annotations

import io
import random
import shutil
import textwrap
import zipfile
from pathlib import Path

from tests.pdf_files import page_of_text

KINDS = ("md", "md", "md", "txt", "html", "docx", "pdf", "py")
_WORDS = [
    *("harbour", "crane", "vessel", "storm", "pilot", "cargo", "anchor", "ledger", "signal", "engine", "rope"),
    *("tide", "lantern", "captain", "freight", "customs", "quay", "compass", "rudder", "barrel", "sail", "deck"),
    *("voyage", "weather", "log", "chart", "island", "bridge", "tunnel", "winter", "summer", "market", "letter"),
    *("garden"),
]
_DOCX_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_DOCX_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"'
    ' Target="word/document.xml"/></Relationships>'
)
_DOCX_PARTS = (("[Content_Types].xml", _DOCX_TYPES), ("_rels/.rels", _DOCX_RELATIONS))
_DOCX = (
    '<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    "<w:body>{}</w:body></w:document>"
)


class Churn:
    """Keeps about `documents` files. Each change is complete before the next begins."""

    def __init__(self, root: Path, chance: random.Random, documents: int) -> None:
        self.root = root
        self._chance = chance
        self._documents = documents
        self._number = 0
        root.mkdir(parents=True, exist_ok=True)

    def fill(self) -> None:
        while len(self.files()) < self._documents:
            self._create()

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.is_file())

    def change(self, times: int = 1) -> None:
        """Make random changes: create, copy, edit, rename, move, touch, damage or delete."""
        for _ in range(times):
            surplus = len(self.files()) - self._documents
            weights = {
                self._create: 4 if surplus < 20 else 1,
                self._copy: 2 if surplus < 20 else 1,
                self._edit: 6,
                self._save_atomically: 3,
                self._rename: 3,
                self._move_folder: 1,
                self._touch: 1,
                self._damage: 1,
                self._delete: 4 if surplus > -20 else 1,
                self._delete_folder: 0.2 if surplus > 20 else 0,
            }
            (chosen,) = self._chance.choices(list(weights), list(weights.values()))
            chosen()

    def _create(self) -> None:
        path = self._new_path(self._chance.choice(KINDS))
        path.write_bytes(self._document(path.suffix[1:]))

    def _copy(self) -> None:
        """Create a document with the content of another."""
        source = self._some_file()
        shutil.copyfile(source, self._new_path(source.suffix[1:]))

    def _edit(self) -> None:
        path = self._some_file()
        if path.suffix in (".md", ".txt", ".py") and self._chance.random() < 0.7:
            with path.open("ab") as file:
                file.write(f"\n\n{self._paragraph()}\n".encode())
        else:
            path.write_bytes(self._document(path.suffix[1:]))

    def _save_atomically(self) -> None:
        path = self._some_file()
        temporary = path.with_name(f".{path.name}.tmp~")
        temporary.write_bytes(self._document(path.suffix[1:]))
        temporary.replace(path)

    def _rename(self) -> None:
        path = self._some_file()
        path.rename(self._new_path(path.suffix[1:]))

    def _move_folder(self) -> None:
        folder = self._some_file().parent
        if folder != self.root:
            self._number += 1
            folder.rename(self.root / f"moved-{self._number}")

    def _touch(self) -> None:
        self._some_file().touch()

    def _damage(self) -> None:
        """Make a document unreadable until the next edit."""
        damaged = {".pdf": b"%PDF-1.4 and then nothing", ".docx": b"PK\3\4 and then nothing", ".txt": b"\0\1\2\3" * 40}
        path = self._some_file()
        if path.suffix in damaged:
            path.write_bytes(damaged[path.suffix])

    def _delete(self) -> None:
        self._some_file().unlink()

    def _delete_folder(self) -> None:
        folder = self._some_file().parent
        if folder != self.root and len(list(folder.iterdir())) < 40:
            shutil.rmtree(folder)

    def _some_file(self) -> Path:
        return self._chance.choice(self.files())

    def _new_path(self, kind: str) -> Path:
        self._number += 1
        folder = self.root / self._chance.choice(["", "a", "b", "b/c", "d"])
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self._chance.choice(_WORDS)}-{self._number}.{kind}"

    def _document(self, kind: str) -> bytes:
        # One document in ten is long: it has several chunks.
        length = self._chance.choice([12, *[1] * 6, *[3] * 3])
        return document(kind, [self._paragraph() for _ in range(length)])

    def _paragraph(self) -> str:
        sentences = []
        for _ in range(self._chance.randint(2, 6)):
            words = self._chance.choices(_WORDS, k=self._chance.randint(5, 14))
            sentences.append(f"{' '.join(words).capitalize()} {self._chance.randint(1, 9999)}.")
        return " ".join(sentences)


def document(kind: str, paragraphs: list[str]) -> bytes:
    """Return a file of this kind; the first words are its title."""
    title = " ".join(paragraphs[0].split()[:3])
    match kind:
        case "docx":
            return _docx(paragraphs)
        case "pdf":
            return _pdf(paragraphs)
        case "html":
            body = "".join(f"<p>{each}</p>\n" for each in paragraphs)
            return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>".encode()
        case "py":
            functions = [f"def f{n}():\n    # {each}\n    return {n}\n" for n, each in enumerate(paragraphs)]
            return "\n".join(functions).encode()
        case "md":
            parts = [f"## Part {n}\n\n{each}\n" if n % 3 == 2 else f"{each}\n" for n, each in enumerate(paragraphs)]
            return f"---\ntags: [{title.split()[0].lower()}]\n---\n# {title}\n\n{chr(10).join(parts)}".encode()
    return "\n\n".join(paragraphs).encode()


def _docx(paragraphs: list[str]) -> bytes:
    target = io.BytesIO()
    body = "".join(f"<w:p><w:r><w:t>{each}</w:t></w:r></w:p>" for each in paragraphs)
    with zipfile.ZipFile(target, "w") as archive:
        parts = {
            "[Content_Types].xml": _DOCX_TYPES,
            "_rels/.rels": _DOCX_RELATIONS,
            "word/document.xml": _DOCX.format(body),
        }
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name), text)  # a fixed timestamp
    return target.getvalue()


def _pdf(paragraphs: list[str]) -> bytes:
    lines = [words for each in paragraphs for words in [*textwrap.wrap(each, 80), ""]][:55]
    shown = "".join(f"({line}) Tj T*\n" for line in lines)
    return page_of_text(f"BT /F1 10 Tf 50 800 Td 14 TL\n{shown}ET".encode(), page=b"/MediaBox[0 0 595 842]")
