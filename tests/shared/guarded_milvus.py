"""milvus-lite that requires a token in the way of Milvus: python -m … FOLDER PORT TOKEN"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.db import MilvusLite
from pymilvus.grpc_gen import milvus_pb2_grpc


class Guard(grpc.ServerInterceptor):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self._wanted = base64.b64encode(token.encode()).decode()

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        if dict(details.invocation_metadata).get("authorization") == self._wanted:
            return continuation(details)

        def refuse(_: object, context: Any) -> None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure, please check api key is correct")

        return grpc.unary_unary_rpc_method_handler(refuse)


def main(folder: str, port: str, token: str) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(4), interceptors=[Guard(token)])
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(MilvusLite(folder)), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
