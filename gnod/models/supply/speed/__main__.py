"""The measuring child: one request, a reply for each shape, and the end."""

from __future__ import annotations

import math
import socket
import sys
from pathlib import Path

import msgspec

from gnod.child import frames
from gnod.child.child_setup import set_up_child, silence
from gnod.models.supply.speed.messages import (
    Devices,
    Finished,
    MeasureReply,
    MeasureRequest,
    SpeedMeasured,
    SpeedSkipped,
)

# A large model may use the processor better than a small one by at most this factor.
_MARGIN = 3


def main() -> None:
    descriptor, parent = sys.argv[1:]
    set_up_child(int(parent))
    channel = socket.socket(fileno=int(descriptor))
    silence()
    request = frames.receive(channel, msgspec.msgpack.Decoder(MeasureRequest))
    if request is not None:
        _send(channel, _measure(request, channel))


def _measure(request: MeasureRequest, channel: socket.socket) -> Finished:
    try:
        from gnod.models.supply.speed.devices import gpus
        from gnod.models.supply.speed.measure import tokens_per_s

        cards = gpus() if request.gpu else []
        _send(channel, Devices(gpus=cards))
        rate = math.inf  # weights per second, of the fastest so far
        for shape in request.shapes:
            # A card may be much faster with large models than with small ones.
            if not (cards or shape.is_small) and rate * _MARGIN < shape.parameters * request.least_tokens_per_s:
                _send(channel, SpeedSkipped(shape=shape))
                continue
            speed = tokens_per_s(shape, Path(request.folder), threads=request.threads, gpu=request.gpu)
            rate = max(speed * shape.sample.parameters, rate if rate < math.inf else 0)
            _send(channel, SpeedMeasured(shape=shape, tokens_per_s=speed))
    except Exception as error:
        return Finished(f"{type(error).__name__}: {error}")
    return Finished()


def _send(channel: socket.socket, reply: MeasureReply) -> None:
    channel.sendall(frames.encode(reply))


if __name__ == "__main__":
    main()
