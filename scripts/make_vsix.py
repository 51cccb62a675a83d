"""Write the VS Code extension to FOLDER/gno-VERSION.vsix: `make editors`. Uses only the standard library.

The file is a zip of the files that `editors/vscode/package.json` names, of a manifest, and of a list of MIME types:
https://learn.microsoft.com/en-us/visualstudio/extensibility/anatomy-of-a-vsix-package
The same sources produce the same bytes.
"""
# ruff: noqa: T201

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

SOURCE = Path(__file__).resolve().parent.parent / "editors" / "vscode"
LONG_AGO = (1980, 1, 1, 0, 0, 0)
MIME_TYPES = {
    ".js": "application/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="{name}" Version="{version}" Publisher="{publisher}"/>
    <DisplayName>{displayName}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Categories>{categories}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="{engine}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="{kind}"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
"""
TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{}</Types>
"""


def main(folder: Path) -> None:
    package = json.loads((SOURCE / "package.json").read_text("utf-8"))
    made = folder / f"{package['name']}-{package['version']}.vsix"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in _members(package):
            member = zipfile.ZipInfo(name, LONG_AGO)
            member.external_attr = 0o644 << 16  # VS Code keeps these permissions
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    print(made)


def _members(package: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    yield "extension.vsixmanifest", _manifest(package).encode()
    types = (f'<Default Extension="{suffix}" ContentType="{mime}"/>' for suffix, mime in MIME_TYPES.items())
    yield "[Content_Types].xml", TYPES.format("".join(types)).encode()
    for name in ("package.json", *package["files"]):
        found = SOURCE / name
        for path in sorted(found.iterdir()) if found.is_dir() else [found]:
            packed = path.relative_to(SOURCE).with_suffix(path.suffix or ".txt")  # every file must have a type
            yield f"extension/{packed.as_posix()}", path.read_bytes()


def _manifest(package: dict[str, Any]) -> str:
    fields = {name: package[name] for name in ("name", "version", "publisher", "displayName", "description")}
    fields["engine"] = package["engines"]["vscode"]
    fields["kind"] = ",".join(package["extensionKind"])
    fields["categories"] = ",".join(package["categories"])
    return MANIFEST.format(**{name: escape(text, {'"': "&quot;"}) for name, text in fields.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
