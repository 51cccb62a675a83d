"""Measure whether the confidence tells questions that the documents answer from those that they do not.

Each question is asked twice: of the whole collection, and without the documents that are judged relevant and those with
the same text. Other documents stay, even if the words of an answer occur in them: "1066" answers few of the questions
about the texts that contain it. The statistics of the index stay, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
import numpy

from gnod.answers.confidence import THRESHOLD
from gnod.evaluate.dataset import CorpusDocument, Dataset
from gnod.evaluate.index import Index, Progress
from gnod.evaluate.quoter import Quoter


class AbstentionFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`auroc`: the probability that a question has a higher confidence with the relevant documents than another one has
    without. `answered`: the share of the questions that reach the threshold; `answered_without`: when the relevant
    documents are left out. `unanswerable`: the number of questions that the collection says it does not answer, and
    `answered_unanswerable`: the share of these that reach the threshold."""

    questions: int
    auroc: float
    answered: float
    answered_without: float
    unanswerable: int = 0
    answered_unanswerable: float | None = None


def measure(
    dataset: Dataset, queries: Mapping[str, str], quoter: Quoter, index: Index, progress: Progress
) -> AbstentionFigures | None:
    """Ask every query that has a relevant document in the index; None if there are none."""
    removed = _relevant(dataset, index)
    asked = {query_id: text for query_id, text in queries.items() if removed.get(query_id)}
    if not asked:
        return None
    total = 2 * len(asked) + len(dataset.unanswerable)
    done = 0

    def ask(question: str, excluded: frozenset[int] = frozenset()) -> float:
        nonlocal done
        confidence = quoter.ask(question, excluded).confidence.value
        done += 1
        progress(f"asking {dataset.name} with and without the answer", done, total)
        return confidence

    having = [ask(question) for question in asked.values()]
    lacking = [ask(question, removed[query_id]) for query_id, question in asked.items()]
    unanswerable = [ask(question) for question in dataset.unanswerable.values()]
    return AbstentionFigures(
        questions=len(asked),
        auroc=auroc(having, lacking),
        answered=_share(having),
        answered_without=_share(lacking),
        unanswerable=len(unanswerable),
        answered_unanswerable=_share(unanswerable) if unanswerable else None,
    )


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the area under the ROC curve: how often a value of the first kind is larger than one of the second; equal
    values count half. Neither may be empty.

    >>> auroc([0.9, 0.5], [0.5, 0.1])
    0.875
    """
    ordered = numpy.sort(negative)
    below = numpy.searchsorted(ordered, positive, side="left") + numpy.searchsorted(ordered, positive, side="right")
    return float(below.mean() / (2 * len(negative)))


def _share(confidences: Sequence[float]) -> float:
    return sum(confidence >= THRESHOLD for confidence in confidences) / len(confidences)


def _relevant(dataset: Dataset, index: Index) -> dict[str, frozenset[int]]:
    """Return, for each query, the store's ids of its relevant documents and their copies. A negative grade is a degree
    of relevance in some collections."""
    numbers = {id_: number for number, id_ in index.ids.items()}
    plain = {document.id: _plain(document) for document in dataset.documents if document.id in numbers}
    same: defaultdict[str, list[int]] = defaultdict(list)
    for id_, text in plain.items():
        same[text].append(numbers[id_])
    return {
        query_id: frozenset(
            number for id_, grade in grades.items() if grade and id_ in plain for number in same[plain[id_]]
        )
        for query_id, grades in dataset.qrels.items()
    }


def _plain(document: CorpusDocument) -> str:
    return " ".join((document.text.strip() or document.title).casefold().split())
