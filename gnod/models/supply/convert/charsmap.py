"""Write SentencePiece's normalisation rules as llama.cpp reads them: `tokenizer.ggml.precompiled_charsmap`.

A double array after darts-clone (Susumu Yata, 2008), keyed by UTF-8 bytes: 4 bytes length, the array, then the
replacements, each ended by NUL. Unit: bits 0–7 the byte that leads here, 8 whether a rule ends here, 10–30 the offset
to the children (`unit ^ offset ^ byte`); a value has bit 31 set and sits at the child of byte 0.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

_RULE_ENDS = 1 << 8
_VALUE = 1 << 31
_OFFSET_SHIFT = 10
_BLOCK = 256
# How far back to search for a gap. Searching further saves little.
_REACH = 2 * _BLOCK

_Node = dict[int, "_Node"]
_END = 0


def build(rules: Mapping[str, str]) -> bytes:
    """Return the map that replaces each key by its value, the longest matching key first. Neither may contain NUL, and
    no key may be empty."""
    texts = dict.fromkeys(sorted(set(rules.values())), 0)
    replacements = bytearray()
    for text in texts:
        texts[text] = len(replacements)
        replacements += text.encode() + b"\0"
    units = _units({key.encode(): texts[value] for key, value in rules.items()})
    array = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(array)) + array + bytes(replacements)


def _units(values: Mapping[bytes, int]) -> list[int]:
    root: _Node = {}
    offsets: dict[int, int] = {}
    for key, value in values.items():
        node = root
        for byte in key:
            node = node.setdefault(byte, {})
        node[_END] = {}
        offsets[id(node)] = value
    units: list[int | None] = [0]
    taken: set[int] = set()
    waiting = [(0, root)]
    while waiting:
        place, node = waiting.pop()
        base = _free_base(units, sorted(node), taken)
        unit = (units[place] or 0) | (base ^ place) << _OFFSET_SHIFT
        units[place] = unit | _RULE_ENDS if _END in node else unit
        for byte, child in node.items():
            if byte == _END:
                units[base] = _VALUE | offsets[id(node)]
            else:
                units[base ^ byte] = byte
                waiting.append((base ^ byte, child))
    # An unused unit has a label that is not a byte, so that a walk never continues there.
    return [_VALUE if unit is None else unit for unit in units]


def _free_base(units: list[int | None], labels: list[int], taken: set[int]) -> int:
    """Return a base whose children are all free, and which no other node has. Adds units in whole blocks, so that no
    walk leaves the array."""
    base = max(1, len(units) - _REACH)
    while base in taken or any(base ^ label < len(units) and units[base ^ label] is not None for label in labels):
        base += 1
    taken.add(base)
    units.extend([None] * ((base // _BLOCK + 1) * _BLOCK - len(units)))
    return base
