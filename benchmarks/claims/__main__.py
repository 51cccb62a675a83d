"""Check claims through the daemon, like `gnoctl ask --verify`. Prints precision and recall of each stance.

.venv/bin/python -m benchmarks.claims [--perturbed NAME… [--seed N]] [--verbose]

Without --perturbed, it checks the claims in `claims.tsv`, which were written by hand. With --perturbed, it checks
unchanged and changed sentences of these documents; a fifth of the documents are not indexed, so that their sentences
are absent. Needs MiniLM in the cache of the tests. Each collection has its own index.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from benchmarks.claims import documents
from benchmarks.claims.documents import Claim
from benchmarks.throwaway import cached_model, require_shared, throwaway

_STANCES = ("supported", "contradicted", "not_found")
Outcomes = Counter[tuple[str, str]]
"""Counts of pairs: the stance of a claim, and the stance that the daemon found."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perturbed", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="print the claims that got another stance")
    options = parser.parse_args()
    require_shared()
    total: Outcomes = Counter()
    for name in options.perturbed:
        indexed, left_out = documents.halves(documents.texts_of(name))
        claims = documents.perturbed(indexed, left_out, options.seed)
        total += _measured(f"{name}, perturbed", indexed, claims, options.verbose)
    for name, claims in {} if options.perturbed else _written().items():
        total += _measured(name, documents.texts_of(name), claims, options.verbose)
    print(_figures("all", total))


def _written() -> dict[str, list[Claim]]:
    claims = defaultdict(list)
    with Path(__file__).with_name("claims.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            claims[row["collection"]].append(Claim(row["verdict"], row["claim"]))
    return claims


def _measured(name: str, texts: dict[str, str], claims: list[Claim], verbose: bool) -> Outcomes:
    outcomes: Outcomes = Counter()
    for claim, (found, said) in zip(claims, _checked(texts, claims), strict=True):
        outcomes[claim.stance, found] += 1
        if verbose and found != claim.stance:
            print(f"  {claim.stance} -> {found}: {claim.text}\n      {said}")
    print(_figures(name, outcomes), flush=True)
    return outcomes


def _checked(texts: dict[str, str], claims: list[Claim]) -> Iterable[tuple[str, str]]:
    """Yield the stance that the daemon finds for each claim, with its sentence."""
    model = cached_model() or sys.exit("this benchmark needs MiniLM in the cache of the tests: run `make test` first")
    config = f'models:\n  preset: none\n  embed: "file:{model}"\n'
    with throwaway(config) as daemon, tempfile.TemporaryDirectory(dir="/tmp") as folder:
        documents.write(texts, Path(folder))
        daemon.add(Path(folder), "docs")
        daemon.wait_for_vectors()
        for claim in claims:
            parts = daemon.call("ask.verify", text=claim.text)["claims"]
            # The stance of a text is the worst stance of its sentences.
            found = [each["stance"] for each in parts] or ["not_found"]
            yield (
                next(each for each in ("contradicted", "not_found", "supported") if each in found),
                " / ".join(str(each["differs"]) + (each.get("sentence") or {}).get("text", "") for each in parts),
            )


def _figures(name: str, outcomes: Outcomes) -> str:
    """
    >>> _figures("notes", Counter({("supported", "supported"): 3, ("supported", "not_found"): 1}))
    'notes (4): supported 1.00, 0.75; contradicted –, –; not_found 0.00, –'
    """
    shown = (f"{stance} {_precision(outcomes, stance)}, {_recall(outcomes, stance)}" for stance in _STANCES)
    return f"{name} ({outcomes.total()}): {'; '.join(shown)}"


def _precision(outcomes: Outcomes, stance: str) -> str:
    return _share(outcomes[stance, stance], sum(count for (_, found), count in outcomes.items() if found == stance))


def _recall(outcomes: Outcomes, stance: str) -> str:
    return _share(outcomes[stance, stance], sum(count for (right, _), count in outcomes.items() if right == stance))


def _share(part: int, of: int) -> str:
    return f"{part / of:.2f}" if of else "–"


if __name__ == "__main__":
    main()
