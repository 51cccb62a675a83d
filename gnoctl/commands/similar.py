"""`gnoctl similar`: documents that are like one."""

from __future__ import annotations

from typing import Annotated

from gnoctl.options import Command, argument
from gnoctl.references import absolute
from gnoctl.searching import FilterOptions, find, params_of
from gnod.protocol.params import SearchSimilarParams

HELP = """Find documents that are like one, by meaning.

The document itself and its copies are left out. It must be indexed and embedded already; --fresh sees to both first.

Examples:

  gnoctl similar notes/deploy.md

  gnoctl similar '#a1b2c3d4' -c papers -n 10

  gnoctl similar ./draft.md --fresh --files
"""


class SimilarOptions(FilterOptions, frozen=True, kw_only=True):
    ref: Annotated[
        str,
        argument("REF", help="A #docid, gno://collection/path, collection/path, or a path on disk."),
    ]


def similar(options: SimilarOptions) -> None:
    params = params_of(options, SearchSimilarParams, ref=absolute(options.ref))
    find(options, "search.similar", params, nothing=f"Nothing is similar to {options.ref}")


COMMAND = Command(SimilarOptions, similar, HELP)
