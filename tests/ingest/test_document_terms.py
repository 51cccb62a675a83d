"""Test the terms of a document for keyword search."""

from __future__ import annotations

from gnod.ingest.text.document_terms import terms_of

BASE = """\
filters:
  and:
    - categories.contains(link("Boats"))
    - '!file.name.contains("Template")'
formulas:
  overlap: list(this.file.links).filter(list(file.links).containsAny(value)).unique()
properties:
  note.skipper:
    displayName: Captain
  file.name:
    displayName: Vessel
views:
  - type: table
    name: Best sorted by name
    order:
      - file.name
      - rating
    sort:
      - property: formula.draught
        direction: DESC
"""


OWNERS = "boat categori templat overlap skipper captain vessel best sort rate draught"
SYNTAX = "filter and properti view type tabl order direct desc file uniqu"


def test_a_base_has_the_words_of_its_owner_and_no_words_of_the_syntax() -> None:
    body = terms_of("en", "Boats.base", "Boats", BASE, "text/plain").body.split()
    assert {*OWNERS.split()} <= {*body}
    assert not {*SYNTAX.split()} & {*body}
    assert body.count("name") == 1
    assert "filter" in terms_of("en", "Boats.yaml", "Boats", BASE, "text/plain").body.split()
