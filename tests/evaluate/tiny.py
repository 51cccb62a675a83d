"""A test collection of five documents. Its figures were calculated by hand.

Queries find the documents with their word. `otters` is before `river`, which has the word once and not in its title.
nDCG has linear gains: grade / log2(rank + 1).

| query     | asked     | found         | judged                     | nDCG@10                   | RR@10 | R@100 | AP  |
|-----------|-----------|---------------|----------------------------|---------------------------|-------|-------|-----|
| graded    | otter     | otters, river | otters 1, river 2, lamp -1 | 2.26186 / 2.63093 = .8597 | 1     | 1     | 1   |
| half      | kettle    | kettle        | kettle 1, desk 1           | 1 / 1.63093 = .6131       | 1     | 1/2   | 1/2 |
| nothing   | zebra     | –             | desk 1                     | 0                         | 0     | 0     | 0   |
| refused   | -desk     | (no query)    | desk 1                     | 0                         | 0     | 0     | 0   |
| rewritten | 5" desk   | desk          | desk 1                     | 1                         | 1     | 1     | 1   |
| unjudged  | lamp      |               |                            |                           |       |       |     |

Means over the five judged queries: 2.47287/5, 3/5, 2.5/5, 2.5/5.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

CORPUS = [
    {"_id": "river", "title": "", "text": "The river, with an otter in it.", "metadata": {}},
    {"_id": "otters", "title": "Otter", "text": "An otter and another otter."},
    {"_id": "desk", "title": "Desk", "text": "A wooden desk."},
    {"_id": "lamp", "title": "Lamp", "text": "A lamp."},
    {"_id": "tea kettle", "title": "Kettle", "text": ""},
]
ASKED = {"graded": "otter", "half": "kettle", "nothing": "zebra", "refused": "-desk", "rewritten": '5" desk'}
QUERIES = [{"_id": id_, "text": text} for id_, text in {**ASKED, "unjudged": "lamp"}.items()]
QRELS = [
    *(("graded", "otters", 1), ("graded", "river", 2), ("graded", "lamp", -1), ("half", "tea kettle", 1)),
    *((query, "desk", 1) for query in ("half", "nothing", "refused", "rewritten")),
]
PER_QUERY = {"graded": 0.8597, "half": 0.6131, "nothing": 0.0, "refused": 0.0, "rewritten": 1.0}
MEASURES = {"nDCG@10": 0.4946, "RR@10": 0.6, "R@100": 0.5, "MAP": 0.5}


def write(folder: Path, *, qrels: str = "qrels.tsv") -> Path:
    """Write the collection as a folder in BEIR layout."""
    (folder / qrels).parent.mkdir(parents=True, exist_ok=True)
    write_lines(folder / "corpus.jsonl", CORPUS)
    write_lines(folder / "queries.jsonl", QUERIES)
    rows = "".join(f"{query}\t{document}\t{grade}\n" for query, document, grade in QRELS)
    (folder / qrels).write_text("query-id\tcorpus-id\tscore\n" + rows)
    return folder


def write_lines(path: Path, rows: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}
