"""Tell whether a text contains something that looks like a secret. Pure, and only a precaution.

It recognises known forms of keys and tokens, passwords in addresses, and random strings after words such as `token`. A
password that is an ordinary word in an ordinary sentence is not recognised.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2

_KNOWN = re.compile(
    r"""-----BEGIN\ [A-Z ]*PRIVATE\ KEY
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                       # AWS
    | \bgh[opusr]_[A-Za-z0-9]{20,} | \bgithub_pat_\w{20,} # GitHub
    | \bglpat-[\w-]{16,}                                  # GitLab
    | \b(?:sk|rk|pk)[-_][A-Za-z0-9_-]{16,}                # OpenAI, Anthropic, Stripe
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}                    # Slack
    | \bAIza[\w-]{30,} | \bya29\.[\w-]{20,}               # Google
    | \bhf_[A-Za-z0-9]{20,} | \bnpm_[A-Za-z0-9]{20,} | \bpypi-[\w-]{20,}
    | \bSG\.[\w-]{16,}\.[\w-]{16,}                        # SendGrid
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*                   # JSON Web Token
    | \bAGE-SECRET-KEY-1[0-9A-Z]{20,}""",
    re.VERBOSE,
)
_IN_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/@]+)@", re.IGNORECASE)
_NAMED = re.compile(
    r"(?:pass(?:word|wd|phrase|code)?|pwd|passwort|kennwort|contraseña|clave|mot de passe|senha)"
    r"\W{0,3}(?:\s(?:is|ist|es|est)\s|[:=])\s*[\"'`]?([^\s\"'`,;]{4,})",
    re.IGNORECASE,
)
_AFTER_KEYWORD = re.compile(
    r"(?:key|token|secret|bearer|credentials?|auth\w*|schlüssel)\b[\"'`]?(?:\s+(?:is|ist|es))?\s*[:=]?\s*[\"'`]?"
    r"([A-Za-z0-9+/_.~-]{16,}={0,2})",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[<{\[(*$%]|\.\.\.|x{3,}|pass(?:word)?\Z|secret\Z|your|example|changeme|redacted|none\Z|null\Z|true\Z|false\Z",
    re.IGNORECASE,
)
# The entropy of random Base64 and hexadecimal strings. Identifiers of words are below.
_BITS_PER_CHARACTER = 3.3
_MIN_DIGITS = 2


def contains_secret(text: str) -> bool:
    """Return whether something in the text looks like a key, a token or a password.

    >>> contains_secret("export TOKEN=ghp_" + "a1" * 18), contains_secret("the token is rotated every month")
    (True, False)
    """
    if _KNOWN.search(text):
        return True
    given = [match[1] for pattern in (_IN_ADDRESS, _NAMED) for match in pattern.finditer(text)]
    if any(not _PLACEHOLDER.match(value) for value in given):
        return True
    return any(_is_random(match[1]) for match in _AFTER_KEYWORD.finditer(text))


def _is_random(value: str) -> bool:
    """Return whether the characters look random: many different ones, letters and digits."""
    if _PLACEHOLDER.search(value) or sum(map(str.isdigit, value)) < _MIN_DIGITS or value.isdigit():
        return False
    counts = Counter(value)
    bits = -sum(n / len(value) * log2(n / len(value)) for n in counts.values())
    return bits >= _BITS_PER_CHARACTER
