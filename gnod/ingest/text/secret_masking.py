"""Find keys and passwords in a text, and replace them with their kind. Pure.

Issuers document the forms of their keys, and secret scanners (gitleaks, detect-secrets) search for the same forms. A
key is searched only at the beginning of a word and has a bounded length, so the time is linear for every text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

_WORD = r"[A-Za-z0-9_\-]"
# Kind, beginnings, and the pattern after them.
_KEYS = (
    ("AWS key", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,255}"),
    ("GitHub token", "github_pat_", r"\w{22,255}"),
    ("GitLab token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-", rf"{_WORD}{{20,300}}"),
    ("Slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe. xapp-", rf"{_WORD}{{10,300}}"),
    ("Slack webhook", "hooks.slack.com/services/", r"[A-Za-z0-9+/]{20,80}"),
    ("Anthropic key", "sk-ant-", rf"{_WORD}{{20,300}}"),
    ("OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-or-", rf"{_WORD}{{20,300}}"),
    ("API key", "sk-", r"(?=[a-z_\-]{0,60}[A-Z0-9])(?=[A-Za-z_\-]{0,60}\d)[A-Za-z0-9_\-]{32,300}"),
    ("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[A-Za-z0-9+/=]{16,300}"),
    ("Google key", "AIza", rf"{_WORD}{{35}}"),
    ("Google token", "ya29. GOCSPX-", rf"{_WORD}{{20,500}}"),
    ("JWT", "eyJ", rf"{_WORD}{{10,8000}}\.eyJ{_WORD}{{10,20000}}(?:\.{_WORD}{{0,2000}})?"),
    ("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    ("PyPI token", "pypi-", rf"AgEI{_WORD}{{50,500}}"),
    ("Hugging Face token", "hf_ api_org_", r"[A-Za-z]{34}"),
    ("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{64}"),
    ("SendGrid key", "SG.", rf"{_WORD}{{16,32}}\.{_WORD}{{32,64}}"),
    ("Twilio key", "SK", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[a-fA-F0-9]{32}"),
    ("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    ("Databricks token", "dapi", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Vault token", "hvs. hvb. hvr.", rf"{_WORD}{{24,300}}"),
    ("Grafana token", "glsa_ glc_", r"[A-Za-z0-9_+/=]{32,400}"),
    ("Notion token", "ntn_ secret_", r"[A-Za-z0-9]{40,60}"),
    ("Groq key", "gsk_", r"[A-Za-z0-9]{40,80}"),
    ("xAI key", "xai-", r"[A-Za-z0-9]{70,100}"),
    ("Perplexity key", "pplx-", r"[A-Za-z0-9]{40,60}"),
    ("Replicate token", "r8_", r"[A-Za-z0-9]{37,40}"),
    ("Tailscale key", "tskey-", rf"{_WORD}{{20,100}}"),
    ("Atlassian token", "ATATT3", r"[A-Za-z0-9_\-=]{60,300}"),
    ("Linear key", "lin_api_", r"[A-Za-z0-9]{40}"),
    ("Postman key", "PMAK-", rf"{_WORD}{{40,80}}"),
    ("New Relic key", "NRAK-", r"[A-Z0-9]{27}"),
    ("Sentry token", "sntrys_ sntryu_", r"[A-Za-z0-9_=+/]{40,400}"),
    ("Supabase key", "sbp_ sb_secret_", rf"{_WORD}{{20,80}}"),
    ("PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", rf"{_WORD}{{32,64}}"),
    ("Square token", "sq0atp- sq0csp- EAAA", rf"{_WORD}{{22,80}}"),
    ("Fly token", "fm1_ fm2_ fo1_", r"[A-Za-z0-9+/=_\-]{40,2000}"),
)
# Few words are as long as a key, so keys are searched only in long words.
_LONG = re.compile(r"[A-Za-z0-9_\-./+=]{20,}")
_KEY = re.compile(
    r"(?<![A-Za-z0-9_\-])(?:"
    + "|".join(
        f"(?P<k{number}>(?:{'|'.join(map(re.escape, beginnings.split()))}){tail})"
        for number, (_, beginnings, tail) in enumerate(_KEYS)
    )
    + ")"
)
_PRIVATE_KEY = re.compile(r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40})PRIVATE KEY(?P<block> BLOCK)?-----")
_OF_PRIVATE_KEY = re.compile(r"(?:(?:\s|\\[nr]|[>|\"',+])*[A-Za-z0-9+/=]{16,100}(?![A-Za-z0-9]))*")
_LONGEST_PRIVATE_KEY = 20_000
_IN_URL = re.compile(r"://(?P<user>[^\s/:@\"'<>]{0,100}):(?P<secret>[^\s/@\"'<>]{1,200})@")
_PASSWORDS = "passw|pwd|passphrase|contraseña|senha|пароль|密码|パスワード"
_SECRETS = "secret|token|credential|(?:api|access|private|auth|account|encryption|signing)[_ -]?key"
_NAMED = re.compile(
    rf"(?:(?P<password>{_PASSWORDS})|{_SECRETS})"
    r"[\w\-]{0,20}[\"'`]?\s{0,3}(?::=|=>|[:=：])\s{0,3}(?P<quote>[\"'`]?)"
    r"(?P<secret>[^\s\"'`,;<>(){}\[\]|]{4,500})(?P<closed>[\"'`]?)"
)
_SCHEMED = re.compile(r"\b(?:bearer|basic|token) +(?P<secret>[a-z0-9._~+/=\-]{16,2000})")
_TYPES = frozenset(
    ("string", "str", "password", "passwort", "required", "optional", "null", "none", "true", "false", "undefined")
)
_LEAST_BITS = 3.0
_REFERENCE = re.compile(r"[$%&*]|env\b|process\.|os\.|\.{0,2}/|[A-Za-z]:\\")


def mask(text: str) -> str:
    """Return the text without keys and passwords. The number of lines stays the same.

    >>> mask("export GH=ghp_" + "a1B2" * 9)
    'export GH=[masked: GitHub token]'
    >>> mask('db_password = "hunter2" # postgres://mara:pass@host/db')
    'db_password = "[masked: password]" # postgres://mara:[masked: password]@host/db'
    """
    if "PRIVATE KEY" in text:
        text = _without_private_keys(text)
    text = _LONG.sub(_without_keys, text)
    if "://" in text:
        text = _without(_IN_URL, _of_url, text)
    return _without(_NAMED, _of_name, _without(_SCHEMED, _of_scheme, text))


def _without(pattern: re.Pattern[str], label: Callable[[re.Match[str], str], str], text: str) -> str:
    """Mask the groups `secret` of a pattern that have a label. The pattern is for lower-case text, because ignoring
    case takes several times as long."""
    parts, at = [], 0
    for found in pattern.finditer(text.replace("\u0130", "I").lower()):  # no other letter becomes two letters
        start, end = found.span("secret")
        if (secret := text[start:end]) and not _REFERENCE.match(secret) and (kind := label(found, text)):
            parts += [text[at:start], f"[masked: {kind}]"]
            at = end
    return "".join([*parts, text[at:]])


def _without_keys(word: re.Match[str]) -> str:
    return _KEY.sub(_label_of_key, word[0])


def _label_of_key(found: re.Match[str]) -> str:
    return f"[masked: {_KEYS[int((found.lastgroup or 'k0')[1:])][0]}]"


def _without_private_keys(text: str) -> str:
    """Mask keys from their first line to their last line. If the last line is missing, mask as far as the key goes."""
    parts, at = [], 0
    for begin in _PRIVATE_KEY.finditer(text):
        if begin.start() < at:
            continue
        last = f"-----END {begin['kind']}PRIVATE KEY{begin['block'] or ''}-----"
        end = text.find(last, begin.end(), begin.end() + _LONGEST_PRIVATE_KEY)
        if end < 0 and (found := _OF_PRIVATE_KEY.match(text, begin.end())):
            end, last = found.end(), ""
        lines = "\n" * text.count("\n", begin.start(), end)
        parts += [text[at : begin.start()], f"[masked: private key]{lines}"]
        at = end + len(last)
    return "".join([*parts, text[at:]])


def _of_url(found: re.Match[str], _: str) -> str:
    return "" if found["secret"][0] in "{[" else "password"


def _of_scheme(found: re.Match[str], text: str) -> str:
    secret = text[found.start("secret") : found.end("secret")]
    is_encoded = not (secret.islower() or secret.isupper() or secret.isalpha())
    return "token" if is_encoded or _is_random(secret) else ""


def _of_name(found: re.Match[str], text: str) -> str:
    """Return the label of the value after a name such as `api_key`."""
    if found["password"] and _is_password(found, text):
        return "password"
    return "secret" if _is_random(text[found.start("secret") : found.end("secret")]) else ""


def _is_password(found: re.Match[str], text: str) -> bool:
    """Return whether a value is a password. An unquoted value in code is mostly the name of a variable."""
    secret, before = found["secret"], text[found.start() : found.start("secret")]
    if secret in _TYPES or text[found.end("secret") : found.end("secret") + 1] in tuple("([{"):
        return False
    is_quoted = bool(found["quote"]) and found["quote"] == found["closed"]
    is_setting = before.isupper() and before.endswith("=")
    return is_quoted or is_setting or not secret.replace("_", "").replace(".", "").isalpha()


def _is_random(value: str) -> bool:
    """Return whether a value is generated: it mixes digits and letters, and few characters repeat."""
    changes = sum(first.isdigit() != second.isdigit() for first, second in pairwise(value[:100]))
    return len(value) >= 12 and changes >= 3 and not value.startswith("http") and _bits(value[:100]) >= _LEAST_BITS


def _bits(value: str) -> float:
    """Return the Shannon entropy per character, in bits."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())
