"""A published collection, and its comparison with newly computed data."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from benchmarks.local_engine import LocalEngine
from gnod.shared.engine import SharedDocument
from gnod.shared.ledger import Ledger
from gnod.shared.milvus.engine import MilvusEngine
from gnod.shared.models import Model
from gnod.shared.publishing import Publisher
from tests.small_index import SmallIndex

URI = "file:/home/ann/models/one.gguf"
MODEL = Model(URI, "file:one.gguf", "abc")


class Published:
    """A daemon's publisher without the daemon. `stop` and `start` simulate a kill and a new start."""

    def __init__(self, index: SmallIndex, engine: MilvusEngine, ledger: Path, model: Model | None = MODEL) -> None:
        self.index = index
        self.engine = engine
        self.connection = index.database.open_reader()
        self._ledger_path = ledger
        self.model = model
        self.start()

    def start(self) -> None:
        self.ledger = Ledger(self._ledger_path)
        self.publisher = Publisher(self.ledger, self.engine, "notes", self.model, "ann's laptop")

    def stop(self) -> None:
        self.ledger.close()

    def sync(self, *, take_over: bool = False) -> int:
        """Publish all changes. Returns the number of steps."""
        self.publisher.begin(self.connection, take_over=take_over)
        return self.go_on()

    def go_on(self) -> int:
        self.publisher.follow(self.connection)
        steps = 1
        while self.publisher.step(self.connection):
            steps += 1
        return steps

    def check(self) -> None:
        """Check that the engine has the same data as the index."""
        header = self.engine.header()
        assert header
        here = LocalEngine(self.connection, "notes", self.model.uri if self.model else None, header.average)
        wanted = {document.key: document for document in here.documents(None)}
        assert dict(self.engine.keys()) == {key: document.version for key, document in wanted.items()}
        found = {document.key: document for document in self.engine.documents(wanted)}
        for key, document in wanted.items():
            assert rounded(found[key]) == rounded(document), document.path
        assert dict(self.engine.term_frequencies()) == dict(here.term_frequencies())
        counted = self.engine.count()
        assert counted["documents"] == len(wanted)
        assert counted["pieces"] == sum(len(document.pieces) for document in wanted.values())
        assert counted["texts"] == len(wanted) + 1  # one more for the header
        expected = here.header()
        assert expected
        same = ("documents", "pieces", "tokens", "languages", "analysis", "format")
        assert {name: getattr(header, name) for name in same} == {name: getattr(expected, name) for name in same}
        assert header.behind == 0


def rounded(document: SharedDocument) -> SharedDocument:
    """Round the weights of a document to the precision of an engine."""
    weights = {id_: round(float(np.float32(weight)), 4) for id_, weight in document.weights.items()}
    return msgspec.structs.replace(document, weights=weights)
