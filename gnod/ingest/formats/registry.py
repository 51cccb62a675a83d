"""Lists all converters and finds the converter of a file. Add a new converter to the list below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gnod.ingest.formats import archive, image, mail, notebook, outlook, table, text, webpage
from gnod.ingest.formats.conversations import (
    agents,
    chat_text,
    chatgpt,
    claude_ai,
    gemini,
    irc,
    matrix,
    slack,
    teams,
)
from gnod.ingest.formats.markups import asciidoc, bookmarks, content_lines, latex, org, rst, subtitles
from gnod.ingest.formats.office import doc, docx, epub, iwork, ole, opendocument, ppt, pptx, richtext, vsdx, xls, xlsx
from gnod.ingest.formats.pdf import pdf
from gnod.ingest.reading.converter import Converter, FileContent, any_of, ole_with, riff_with, starts_with


class Registry:
    """Converters in the order in which their signatures are checked."""

    def __init__(self, converters: Iterable[Converter]) -> None:
        self._converters: list[Converter] = []
        self._by_extension: dict[str, Converter] = {}
        self._by_file_name: dict[str, Converter] = {}
        for converter in converters:
            self.add(converter)

    def add(self, converter: Converter) -> None:
        """Raises ValueError if another converter already has one of the extensions or file names."""
        extensions = f"{converter.extensions} {converter.shared_extensions}".split()
        for known, keys in ((self._by_extension, extensions), (self._by_file_name, converter.file_names.split())):
            if taken := known.keys() & keys:
                raise ValueError(f"two converters for {', '.join(sorted(taken))}")
            known.update(dict.fromkeys(keys, converter))
        self._converters.append(converter)

    def __iter__(self) -> Iterator[Converter]:
        return iter(self._converters)

    def by_signature(
        self, content: FileContent, *, among: Callable[[Converter], object] = lambda _: True
    ) -> Converter | None:
        found = (each for each in self if each.signature and among(each) and each.signature(content))
        return next(found, None)

    def by_resemblance(self, content: FileContent) -> Converter | None:
        return next((each for each in self if each.resembles and each.resembles(content)), None)

    def by_extension(self, extension: str) -> Converter | None:
        return self._by_extension.get(extension)

    def by_file_name(self, name: str) -> Converter | None:
        return self._by_file_name.get(name.rpartition("/")[2].lower())

    def is_shared(self, extension: str) -> bool:
        """Tell whether files of several formats have this extension."""
        converter = self.by_extension(extension)
        return converter is not None and extension in converter.shared_extensions.split()


_AUDIO = starts_with(b"ID3\x02", b"ID3\x03", b"ID3\x04", b"OggS", b"fLaC")


def _libre_office(extension: str) -> str:
    return f"convert it with `libreoffice --headless --convert-to {extension} FILE`"


# gnod does not read these formats; it recognises them so that messages can name them.
_NOT_READ = (
    Converter(label="a legacy Office document", signature=ole_with("")),
    Converter(
        label="an image",
        extensions="gif avif ico icns psd ai eps svg svgz raw cr2 nef dng xcf",
        signature=starts_with(b"GIF8", b"8BPS"),
    ),
    Converter(
        label="a sound recording",
        extensions="mp3 m4a aac ogg oga opus flac wav wma aiff aif mid midi",
        signature=any_of(_AUDIO, riff_with(b"WAVE", b"AVI ")),
    ),
    Converter(
        label="a video",
        extensions="mp4 m4v mov avi mkv webm wmv flv mpg mpeg 3gp",
        signature=lambda content: content.data[4:8] == b"ftyp",
    ),
    Converter(
        label="a packed archive",
        extensions="lz4 lzma 7z rar cpio ar jar war ear apk ipa whl egg deb rpm dmg iso img pkg cab",
        signature=starts_with(b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07"),
    ),
    Converter(
        label="a program",
        extensions="exe dll so dylib o a lib class pyc pyo pyd wasm bin com elc beam",
        signature=starts_with(b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\x00asm"),
    ),
    Converter(
        label="a database", extensions="accdb mdb db sqlite sqlite3 dbf", signature=starts_with(b"SQLite format 3\x00")
    ),
    Converter(label="a binary workbook", extensions="xlsb", instead=_libre_office("xlsx")),
    Converter(
        label="a document of another program",
        extensions="odf pub vsd wps wpd hwp mpp",
        instead=_libre_office("pdf"),
    ),
    Converter(label="a Keynote document or a private key", extensions="key", instead="export a document as PDF"),
    Converter(
        label="an electronic book",
        extensions="mobi azw azw3 fb2 lit chm",
        instead="convert it with `ebook-convert FILE FILE.epub` (Calibre)",
    ),
    Converter(
        label="a printed page",
        extensions="djvu ps xps oxps",
        instead="convert it to PDF, for example with `ddjvu -format=pdf`, `ps2pdf` or `xpstopdf`",
    ),
    Converter(label="a OneNote notebook", extensions="one onetoc2", instead="export it as PDF or Word"),
    Converter(label="an Outlook mailbox", extensions="pst ost", instead="convert it with `readpst FILE`"),
    Converter(label="an encrypted or signed file", extensions="gpg pgp tsd"),
    Converter(
        label="data",
        extensions="dat msi ttf otf woff woff2 eot pfb npy npz pkl pickle parquet feather arrow h5 hdf5 onnx pt pth"
        " safetensors gguf tflite dwg dxf stl blend fbx glb 3ds swf fla sketch fig",
    ),
)

REGISTRY = Registry(
    [
        docx.DOCX,
        pptx.PPTX,
        xlsx.XLSX,
        vsdx.VSDX,
        epub.EPUB,
        *opendocument.FORMATS,
        iwork.IWORK,
        slack.SLACK,
        archive.ZIP,
        archive.TAR,
        # Files of these formats may contain each other, so the outermost comes first.
        ole.ENCRYPTED,
        outlook.MSG,
        doc.DOC,
        ppt.PPT,
        xls.XLS,
        *archive.COMPRESSED,
        richtext.RTF,
        image.IMAGE,
        *_NOT_READ,
        pdf.PDF,  # its signature may be anywhere in the first bytes, so it may also be inside another format
        agents.CLAUDE_CODE,
        agents.CODEX,
        chatgpt.CHATGPT,
        claude_ai.CLAUDE_AI,
        gemini.GEMINI,
        gemini.GEMINI_PAGE,
        slack.SLACK_DAY,
        *teams.FORMATS,
        matrix.MATRIX,
        *chat_text.FORMATS,
        irc.IRC,
        opendocument.FLAT,
        bookmarks.BOOKMARKS,
        webpage.HTML,
        webpage.XML,
        mail.MAIL,
        mail.SIGNED,
        table.CSV,
        table.TSV,
        notebook.NOTEBOOK,
        rst.RST,
        asciidoc.ASCIIDOC,
        org.ORG,
        latex.LATEX,
        *subtitles.FORMATS,
        *content_lines.FORMATS,
        *text.FORMATS,
    ]
)
