"""Write a GGUF file, one tensor at a time: of a model only its largest tensor needs to be in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType as WeightType
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt

Value = bool | int | float | str | Sequence[Any]


class TensorWeights(NamedTuple):
    """One tensor. `read` returns its values, or rows of raw bytes if they are stored in `blocks`. `exact`: the type
    of the other matrices is not precise enough, or llama.cpp needs float32."""

    name: str
    shape: tuple[int, ...]
    read: Callable[[], NDArray[Any]]
    blocks: WeightType | None = None
    exact: bool = False


def write(
    target: Path,
    architecture: str,
    fields: Mapping[str, Value],
    tensors: Iterable[TensorWeights],
    *,
    weights: WeightType,
) -> None:
    """Write the model: matrices as `weights`, the rest as float32. `{arch}` in a
    field's name stands for the architecture. A failure leaves an incomplete file. Raises ModelCorrupt."""
    stored = [(tensor, tensor.blocks or _type_of(tensor, weights)) for tensor in tensors]
    with closing(gguf.GGUFWriter(target, architecture)) as writer:
        mostly = f"MOSTLY_{weights.name}" if weights is not WeightType.F32 else "ALL_F32"
        writer.add_file_type(gguf.LlamaFileType[mostly])
        writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
        for name, value in fields.items():
            _add_field(writer, name.replace("{arch}", architecture), value)
        for tensor, kind in stored:
            block, block_bytes = gguf.GGML_QUANT_SIZES[kind]
            size = math.prod(tensor.shape) // block * block_bytes
            writer.add_tensor_info(tensor.name, tensor.shape, np.dtype(np.float32), size, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for tensor, kind in stored:
            values = tensor.read()
            writer.write_tensor_data(values if tensor.blocks else _converted(tensor.name, values, kind))


def _type_of(tensor: TensorWeights, weights: WeightType) -> WeightType:
    if tensor.exact or len(tensor.shape) < 2:
        return WeightType.F32
    return weights if tensor.shape[-1] % gguf.GGML_QUANT_SIZES[weights][0] == 0 else WeightType.F16


def _converted(name: str, values: NDArray[np.float32], kind: WeightType) -> NDArray[Any]:
    least, most = (values.min(), values.max()) if values.size else (0, 0)
    if not (np.isfinite(least) and np.isfinite(most)):
        raise ModelCorrupt(f"tensor {name} has values that are not numbers")
    if kind is WeightType.F16 and max(-least, most) > np.finfo(np.float16).max:
        raise ModelCorrupt(f"tensor {name} has values beyond the range of 16 bits")
    return gguf.quants.quantize(values, kind)


def _add_field(writer: gguf.GGUFWriter, name: str, value: Value) -> None:
    match value:
        case bool():
            writer.add_bool(name, value)
        case int():
            writer.add_uint32(name, value)
        case float():
            writer.add_float32(name, value)
        case str():
            writer.add_string(name, value)
        case _:
            writer.add_array(name, value)
