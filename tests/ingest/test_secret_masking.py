"""Test that keys and passwords in conversations are masked, and that similar text stays."""

from __future__ import annotations

import json
import string
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.prepare import prepare
from gnod.ingest.text.secret_masking import mask
from tests import conversation_files as files
from tests.ingest.unpacked import converted

ALNUM = string.ascii_letters + string.digits


def some(alphabet: str, length: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=length, max_size=length)


KEYS = st.one_of(
    some(string.ascii_uppercase + "234567", 16).map("AKIA{}".format),
    some(ALNUM, 36).map("ghp_{}".format),
    some(ALNUM + "_", 60).map("github_pat_{}".format),
    some(ALNUM + "-_", 20).map("glpat-{}".format),
    some(string.digits, 12).map("xoxb-{}-abcDEF".format),
    some(ALNUM + "-_", 40).map("sk-ant-api03-{}".format),
    some(ALNUM, 40).map("sk-proj-{}".format),
    some(ALNUM, 24).map("sk_live_{}".format),
    some(ALNUM + "-_", 35).map("AIza{}".format),
    some(ALNUM, 36).map("npm_{}".format),
    some(string.ascii_letters, 34).map("hf_{}".format),
    some(ALNUM, 30).map("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{0}.{0}".format),
    some("abcdef0123456789", 64).map("dop_v1_{}".format),
)
SURROUNDINGS = st.sampled_from(
    [
        "{}",
        "key: {}",
        '"{}"',
        "export K={}\n",
        "https://a.example/?t={}&x=1",
        "({})",
        "`{}`,",
        "Authorization: Bearer {}",
    ]
)


@given(KEYS, SURROUNDINGS, st.text())
def test_no_key_is_left(key: str, around: str, text: str) -> None:
    shown = mask(f"{text} {around.format(key)} {text}")
    assert key not in shown
    assert key[-12:] not in shown or key[-12:] in text
    assert "[masked: " in shown


PASSWORDS = some(string.ascii_lowercase, 5).map("{}7!x".format)


@given(
    PASSWORDS,
    st.sampled_from(
        [
            "password={}",
            'DB_PASSWORD: "{}"',
            "pwd = '{}'",
            '{{"userPassword": "{}"}}',
            "Passwort: {}",
            "postgres://u:{}@h/d",
        ]
    ),
)
def test_no_password_is_left(password: str, around: str) -> None:
    assert password not in mask(around.format(password))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("PASSWORD=correcthorse", "PASSWORD=[masked: password]"),
        ('api_key = "9f8a7b6c5d4e3f2a1b0c"', 'api_key = "[masked: secret]"'),
        ("authorization: basic dXNlcjpwYXNzd29yZDE=", "authorization: basic [masked: token]"),
        ("İ password=hunter2", "İ password=[masked: password]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq2\nab+/=\n-----END RSA PRIVATE KEY-----\nafter",
            "[masked: private key]\n\n\n\nafter",
        ),
        (r"-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7b\nMIIEpAIBAAKCAQEA7b cut", "[masked: private key] cut"),
    ],
)  # fmt: skip
def test_the_replacement_of_a_secret(text: str, masked: str) -> None:
    assert mask(text) == masked


CODE = """\
commit 3f786850e387550fdab836ed7e6dc881de23001b
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
{uuid}  https://example.org/a/b?id=42&token=yes  http://localhost:8080/a@b  ssh://git@example.org:22/a
password = request.form["password"]
def login(user: str, password: str) -> Token: ...
connect(password=password, token=token, secret=settings.secret)
token = self.session2.get_token(x1)
max_tokens=4096, tokens: 123456789012345
"password": {{"type": "string"}}, "password": "string", PASSWORD=$DB_PASSWORD, password: ${{{{ secrets.TOKEN }}}}
sk-learn-pipeline-with-a-long-hyphenated-name, data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ
The secret: a good night's sleep. Basic understanding of the bearer of bad news. token_path = "/srv/token1a2b3c.json"
const {{ token, secret }} = props; api_key = os.environ["API_KEY"]
"""


@given(st.uuids(), some("0123456789abcdef", 40))
def test_code_hashes_and_addresses_stay(identifier: uuid.UUID, sha: str) -> None:
    text = CODE.format(uuid=identifier) + f"merge {sha} into {sha[:7]}\n"
    assert mask(text) == text


@given(st.text())
def test_masking_twice_is_masking_once_and_keeps_the_lines(text: str) -> None:
    shown = mask(text)
    assert mask(shown) == shown
    assert shown.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "eyJ-",
        "sk-",
        "://a:",
        "password=",
        "-----BEGIN PRIVATE KEY-----",
        "token:",
        "bearer ",
        "secret",
        "xoxb-",
        "a.b",
    ],
)
def test_the_time_is_linear(piece: str) -> None:
    def takes(size: int) -> float:
        started = time.process_time()
        mask(piece * (size // len(piece)))
        return time.process_time() - started

    assert takes(400_000) < max(10 * takes(100_000), 0.5)


def test_a_document_has_no_secrets() -> None:
    key = "ghp_" + "a1B2" * 9
    entry = files.claude_code("user", f"My key is {key}, what now?\npassword=hunter2")
    for name, text in [("s.jsonl", entry), ("c.json", f"[{_export(key)}]")]:
        document = prepare(converted(text, name), relative_path=name, source_hash="", stat=None)
        assert key not in f"{document}"
        assert "[masked: GitHub token]" in document.markdown
        assert "[masked: GitHub token]" in document.title
    document = prepare(
        converted(entry, "s.jsonl"), relative_path="s.jsonl", source_hash="", stat=None, mask_secrets=False
    )
    assert key in document.markdown
    note = prepare(converted(f"# Key\n\n{key}\n", "a.md"), relative_path="a.md", source_hash="", stat=None)
    assert key in note.markdown  # only conversations are masked


def _export(key: str) -> str:
    return json.dumps(files.claude_ai(key, "What is it?", key))
