"""Recognise text with RapidOCR, which is installed as a wheel with the models of PP-OCR and uses onnxruntime.

This is the only module that uses rapidocr. It passes the paths of the models in the wheel, so nothing is downloaded.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gnod.ingest.ocr.layout import RecognisedLine

if TYPE_CHECKING:
    from PIL.Image import Image

# Lines below this confidence are noise. On an upright page, real lines have .9 and more.
_CONFIDENCE_FLOOR = 0.6
# A page whose lines have less confidence may be upside down.
_DOUBTFUL = 0.8
# The length of the longer side, in pixels, of the picture for finding lines. They are read from the full picture.
_DETECTION_SIDE = 960
# The recogniser scales a line to a height of 48 pixels, and its time is proportional to the width. Most lines are
# smaller; a little less than their original width is enough (measured in docs/BENCHMARKS.md).
_HEIGHT = 48
_OF_OWN_WIDTH = 0.85
_NARROWEST = 0.4


class PageReading(NamedTuple):
    """The lines of a page, in the picture after `turns` by 90 degrees counterclockwise. `is_unreadable`: the page has
    lines, but in a script that the models do not know."""

    lines: list[RecognisedLine]
    turns: int
    is_unreadable: bool = False


def read(image: Image) -> PageReading:
    """Return the lines of a page; an empty list if it has no text. Sideways and upside-down pages are turned."""
    import numpy as np

    pixels = np.asarray(image)[:, :, ::-1]  # OpenCV expects this order
    readings = [PageReading(_read(pixels), 0)]
    for turns in _turns(readings[0].lines):
        readings.append(PageReading(_read(np.rot90(pixels, turns)), turns))
    lines, turns, _ = max(readings, key=_score)
    kept = [line for line in lines if line.confidence >= _CONFIDENCE_FLOOR]
    return PageReading(kept, turns, _is_unreadable(lines))


def _turns(lines: list[RecognisedLine]) -> tuple[int, ...]:
    """Return the turns to try, given the lines that were read without a turn."""
    if sum(_height(line) > _width(line) for line in lines) > len(lines) / 2:
        return (1, 3)
    is_doubtful = sum(line.confidence for line in lines) < _DOUBTFUL * len(lines)
    return (2,) if is_doubtful else ()


def _score(reading: PageReading) -> float:
    """Score a reading: horizontal lines count more than vertical ones."""
    return sum(
        len(line.text) * (line.confidence if _width(line) > _height(line) else line.confidence / 2)
        for line in reading.lines
    )


def _is_unreadable(lines: list[RecognisedLine]) -> bool:
    """Return whether most long lines gave no letters, or all of them gave doubtful ones, because the models do not know
    their script."""
    long = [line for line in lines if _width(line) > 6 * _height(line)]
    # A letter is at most as wide as the line is high.
    empty = [line for line in long if sum(map(str.isalnum, line.text)) * _height(line) < 0.3 * _width(line)]
    is_doubtful = all(line.confidence < _CONFIDENCE_FLOOR for line in long)
    return bool(long) and (is_doubtful or len(empty) > 0.4 * len(long))


def _read(pixels: Any) -> list[RecognisedLine]:
    found = _recogniser()(pixels)
    if found.txts is None or found.boxes is None:
        return []
    rows = zip(found.txts, found.scores, found.boxes, strict=True)
    return [RecognisedLine(text, float(score), [(float(x), float(y)) for x, y in box]) for text, score, box in rows]


@cache
def _recogniser() -> Any:
    import cv2
    import rapidocr  # type: ignore[import-untyped,unused-ignore]

    class Narrowed(rapidocr.RapidOCR):  # type: ignore[misc,unused-ignore]
        def crop_text_regions(self, img: Any, det_boxes: Any) -> list[Any]:
            lines = super().crop_text_regions(img, det_boxes)
            return [cv2.resize(line, (_width_read(line), line.shape[0])) for line in lines]

    return Narrowed(
        params={
            "Global.log_level": "critical",
            "Global.text_score": 0.0,
            "Global.max_side_len": 4000,  # the picture is already scaled
            "Det.model_path": _model("det"),
            "Det.limit_side_len": _DETECTION_SIDE,
            "Det.limit_type": "max",
            "Global.use_cls": False,
            "Rec.model_path": _model("rec"),
            # Larger batches of lines are not faster, and take more memory.
            "Rec.rec_batch_num": 2,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _width_read(line: Any) -> int:
    height, width = int(line.shape[0]), int(line.shape[1])
    factor = min(max(_OF_OWN_WIDTH * height / _HEIGHT, _NARROWEST), 1.0)
    return max(8, round(width * factor))


def _model(part: str) -> str:
    """Return the path of a model in the wheel. Raises FileNotFoundError."""
    import rapidocr

    folder = Path(rapidocr.__file__).parent / "models"
    if found := sorted(folder.glob(f"*_{part}_*.onnx")):
        return str(found[0])
    raise FileNotFoundError(f"rapidocr has no model for {part} in {folder}")


def _width(line: RecognisedLine) -> float:
    return max(x for x, _ in line.corners) - min(x for x, _ in line.corners)


def _height(line: RecognisedLine) -> float:
    return max(max(y for _, y in line.corners) - min(y for _, y in line.corners), 1.0)
