"""Formats that gnod recognises but does not read, so that messages can name them."""

from __future__ import annotations

from gnod.ingest.reading.converter import Converter, any_of, ole_with, riff_with, starts_with

_AUDIO = starts_with(b"ID3\x02", b"ID3\x03", b"ID3\x04", b"OggS", b"fLaC")


def _libre_office(extension: str) -> str:
    return f"convert it with `libreoffice --headless --convert-to {extension} FILE`"


FORMATS = (
    Converter(label="an Office document of the old kind", signature=ole_with("")),
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
    Converter(label="a Keynote document, or a key", extensions="key", instead="export a document as PDF"),
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
