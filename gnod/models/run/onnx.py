"""Runs encoders for embeddings and cross-encoders for reranking in ONNX Runtime on the processor.

Each text is computed alone, on the calling thread. A batch is not faster on a processor, and neighbours would change
the rounding of a text's activations (docs/adr/0068).
"""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from gnod.child.priority import lower_thread
from gnod.errors import InferenceFailed, ModelCorrupt, ModelRejected
from gnod.models import encoder
from gnod.models.embedding_profiles import LONGEST
from gnod.models.encoder import Encoder, Matrix, unit
from gnod.models.run.engines import (
    KNOWN_PAIRS,
    NO_HEAD,
    CrossEncoderPrompts,
    HuggingFace,
    PairRanker,
    Rest,
    Specials,
    Stop,
    TextEmbedder,
    sigmoid,
)
from gnod.models.run.messages import ModelSpec

# The distance between the logits of a correct and a wrong answer: scores of .98 and .02.
_SPREAD = 8.0
# The memory for the attention of a text grows with the square of its length: 100 MB for the longest text in a
# ModernBERT without fused attention. This many of the longest texts are computed at once, or more shorter ones.
_LONGEST_AT_ONCE = 4
_FATAL = 4  # the log level: errors are raised as exceptions anyway

_Numbers = NDArray[np.int64]
# The input names that exporters use.
_INPUTS: dict[str, Callable[[_Numbers, int], _Numbers]] = {
    "input_ids": lambda ids, _: ids,
    "attention_mask": lambda ids, _: np.ones_like(ids),
    "token_type_ids": lambda ids, second_from: (np.arange(ids.shape[1]) >= second_from)[None].astype(ids.dtype),
    "position_ids": lambda ids, _: np.arange(ids.shape[1], dtype=ids.dtype)[None],
}


class EncoderSession:
    """Several threads may use it. Raises ModelCorrupt if the file cannot be loaded, and ModelRejected if the model has
    an unknown input or output."""

    def __init__(self, spec: ModelSpec) -> None:
        path = Path(spec.path)
        self.settings: Encoder = encoder.read(path.parent)
        self._session = _load(path)
        self._inputs = [value.name for value in self._session.get_inputs()]
        if unknown := [name for name in self._inputs if name not in _INPUTS]:
            raise ModelRejected(f"the model needs the inputs {', '.join(unknown)}, which gnod does not provide")
        # The vectors of the tokens, if the model returns them, or else its pooled output.
        outputs = self._session.get_outputs()
        dimensions = 2 if self.settings.pooling == "none" else 3
        fitting = [output.name for output in outputs if len(output.shape or ()) == dimensions]
        if not fitting:
            raise ModelRejected("the model returns neither vectors of its tokens nor a score")
        self._output = fitting[0]
        self.tokenization = _tokenizer(path.parent / encoder.TOKENIZER)
        self.window = min(spec.window or LONGEST, LONGEST)
        self._in_progress = 0  # the sum of squared lengths
        self._ended = threading.Condition()
        try:
            self.run([self.tokenization.words - 1])
        except InferenceFailed:
            raise ModelRejected(
                "the model's tokenizer.json has words that the model does not know: it belongs to another model"
            ) from None

    @contextmanager
    def room_for(self, tokens: Sequence[int]) -> Iterator[None]:
        """Wait until there is memory for a text. A query should not wait for this."""
        square = len(tokens) ** 2
        with self._ended:
            most = _LONGEST_AT_ONCE * LONGEST**2 - square
            self._ended.wait_for(lambda: self._in_progress <= most)
            self._in_progress += square
        try:
            yield
        finally:
            with self._ended:
                self._in_progress -= square
                self._ended.notify_all()

    def run(self, tokens: Sequence[int], second_from: int | None = None) -> Matrix:
        """Return the output for one text, or for two if the second begins at the token `second_from`. Raises
        InferenceFailed, MemoryError."""
        ids = np.array([tokens], np.int64)
        begins = len(tokens) if second_from is None else second_from
        try:
            (hidden,) = self._session.run([self._output], {name: _INPUTS[name](ids, begins) for name in self._inputs})
        except Exception as error:  # the runtime's errors have no common class
            if "memory" in str(error).lower():
                raise MemoryError from None
            raise InferenceFailed("the model failed on a text") from error
        row: Matrix = self.settings.output(hidden)[0]
        return row


class OnnxEmbedding(TextEmbedder):
    """Spreads texts over the cores. Texts that a user waits for have their own threads. Raises ModelCorrupt and
    ModelRejected."""

    def __init__(self, spec: ModelSpec) -> None:
        self._session = session = EncoderSession(spec)
        if session.settings.ranks:
            raise ModelRejected(
                "the model is a reranker, which scores pairs and returns no vectors: use it as `rerank`"
            )
        super().__init__(session.tokenization, session.window)
        self._interactive, self._background = threads(spec.threads), threads(spec.threads, background=True)
        try:
            self.self_test()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for pool in (self._interactive, self._background):
            pool.shutdown()

    def _vectors(self, parts: Sequence[Sequence[int]], rest: Rest | None) -> Matrix:
        pool = self._background if rest else self._interactive
        compute = partial(self._in_turn, rest) if rest else self._session.run
        # Start with the longest, so that no thread has much left at the end.
        order = sorted(range(len(parts)), key=lambda number: -len(parts[number]))
        rows = dict(zip(order, pool.map(lambda number: compute(parts[number]), order), strict=True))
        return unit(np.stack([rows[number] for number in range(len(parts))]))

    def _in_turn(self, rest: Rest, part: Sequence[int]) -> Matrix:
        with self._session.room_for(part):
            started = time.monotonic()
            vector = self._session.run(part)
        rest(time.monotonic() - started)
        return vector


class OnnxRanking(PairRanker):
    """Reads as many documents at once as there are threads. Raises ModelCorrupt and ModelRejected."""

    def __init__(self, spec: ModelSpec) -> None:
        self._session = session = EncoderSession(spec)
        if not session.settings.ranks:
            raise ModelRejected(NO_HEAD)
        super().__init__(CrossEncoderPrompts(session.tokenization, window=session.window), session.window)
        self.at_once = spec.threads
        self._has_types = bool(session.tokenization.specials.second)
        # These adjust the logits before they become scores.
        self._scale, self._centre = 1.0, 0.0
        self._pool = threads(spec.threads)
        try:
            self._fit()
            self.self_test()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._pool.shutdown()

    def _read(self, opening: Sequence[int], rests: Iterable[Sequence[int]], stop: Stop) -> Iterator[tuple[float, int]]:
        waiting = iter(rests)
        while texts := list(islice(waiting, self.at_once)):
            found = self._pool.map(lambda rest: None if stop() else self._logit(opening, rest), texts)
            for rest, logit in zip(texts, found, strict=True):
                if logit is None or stop():
                    return
                yield sigmoid((logit - self._centre) * self._scale), len(opening) + len(rest)

    def _logit(self, opening: Sequence[int], rest: Sequence[int]) -> float:
        """Return the model's output for a document."""
        second_from = len(opening) if self._has_types else None
        tokens = [*opening, *rest]
        with self._session.room_for(tokens):
            return float(self._session.run(tokens, second_from)[0])

    def _fit(self) -> None:
        """Scale the logits of a model whose good documents would all score 1. Ettin's logits range from -12 to 22."""
        right: list[float] = []
        wrong: list[float] = []
        for query, answer in KNOWN_PAIRS:
            opening = self._prompts.opening(query)
            for _, document in KNOWN_PAIRS:
                rest = self._prompts.rest(document, self.window - len(opening))
                (right if document == answer else wrong).append(self._logit(opening, rest))
        spread = float(np.mean(right) - np.mean(wrong))
        if spread > _SPREAD:
            self._scale, self._centre = _SPREAD / spread, float(np.mean([*right, *wrong]))


def threads(count: int, *, background: bool = False) -> ThreadPoolExecutor:
    """Return a pool of computing threads. `background`: at lower priority for the processor and the disk."""
    return ThreadPoolExecutor(count, thread_name_prefix="encoder", initializer=lower_thread if background else None)


def _load(path: Path) -> onnxruntime.InferenceSession:
    onnxruntime.set_default_logger_severity(_FATAL)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Texts can have any length, so buffers planned or kept for each length would only grow.
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not _has_vnni():
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors have no common class
        if "memory" in str(error).lower() or "bad_alloc" in str(error):
            raise MemoryError from None
        raise ModelCorrupt(f"ONNX Runtime cannot load {path}: it is damaged, or newer than the runtime") from error


def _has_vnni() -> bool:
    """Return whether the processor adds 8-bit products exactly. Other processors add them in 16 bits. These sums
    overflow unless the runtime makes all factors unsigned, at half the speed."""
    try:
        return platform.machine() in ("arm64", "aarch64") or "vnni" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def _tokenizer(path: Path) -> HuggingFace:
    """Return the tokenizer of a `tokenizer.json`. Raises ModelRejected."""
    try:
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception:  # the library raises nothing more specific
        raise ModelRejected(f"{path} is missing or damaged; pull the model again") from None
    tokenizer.encode_special_tokens = True  # special tokens are plain text inside a text
    return HuggingFace(tokenizer, _specials(tokenizer))


def _specials(tokenizer: Tokenizer) -> Specials:
    (plain,) = tokenizer.encode("a", add_special_tokens=False).ids[:1] or [-1]
    one, two = tokenizer.encode("a"), tokenizer.encode("a", "a")
    # The positions of the texts between the special tokens, for one text and for two.
    places = [at for at, special in enumerate(two.special_tokens_mask) if not special]
    own = [at for at, special in enumerate(one.special_tokens_mask) if not special]
    if plain < 0 or len(places) < 2 or two.ids[places[0]] != plain:
        raise ModelRejected("gnod cannot use the model's tokenizer")
    half = len(places) // 2
    return Specials(
        prefix=one.ids[: own[0]],
        suffix=one.ids[own[-1] + 1 :],
        between=two.ids[places[half - 1] + 1 : places[half]],
        ending=two.ids[places[-1] + 1 :],
        second=two.type_ids[places[-1]],
    )
