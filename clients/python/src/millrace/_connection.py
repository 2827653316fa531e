"""The connection to a server, and calls on it."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from millrace._errors import MillraceError, from_rpc_error
from millrace._tls import Tls
from millrace.v1 import (checkpoint_service_pb2_grpc, frame_service_pb2_grpc,
                         label_service_pb2_grpc, learner_service_pb2_grpc,
                         prediction_service_pb2_grpc, stream_service_pb2_grpc)

# The largest prediction, with flow and picture, is 46 MB; gRPC's own limit is 4.
_LARGEST_MESSAGE = 64 << 20
# A silent connection gets a ping this often. Servers refuse less than 10 s.
_KEEPALIVE_MS = 60_000
_KEEPALIVE_ANSWER_MS = 20_000
# gRPC's own waits between connection attempts: short, because Backoff decides.
_FIRST_TRY_MS = 100
_LONGEST_TRY_MS = 2_000

# Addresses that gRPC does not parse as HOST:PORT.
_SCHEMES_OF_GRPC = ("dns:", "ipv4:", "ipv6:", "unix:", "unix-abstract:", "vsock:", "xds:")
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:]*):[0-9]+")

# The server needs seconds to measure and cut a network, and for a large network's last frames.
CHANGE_TIMEOUT_S = 120.0


class Connection:
    """A channel with the stubs of all services. Thread-safe.

    Connects with the first call, and reconnects by itself.
    """

    def __init__(self, address: str, *, token: Callable[[], str | None], token_advice: str,
                 tls: Tls | None, timeout: float):
        self._token = token
        self._token_advice = token_advice
        self._timeout = timeout
        self._channel = _open(address, tls)
        self.predictions = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self.streams = stream_service_pb2_grpc.StreamServiceStub(self._channel)
        self.frames = frame_service_pb2_grpc.FrameServiceStub(self._channel)
        self.labels = label_service_pb2_grpc.LabelServiceStub(self._channel)
        self.checkpoints = checkpoint_service_pb2_grpc.CheckpointServiceStub(self._channel)
        self.learners = learner_service_pb2_grpc.LearnerServiceStub(self._channel)

    def close(self) -> None:
        """Ends all calls."""
        self._channel.close()

    def ask(self, method: Any, request: Any, timeout: float | None = None) -> Any:
        """The answer to one request. Raises MillraceError."""
        try:
            return method(request, timeout=self._timeout if timeout is None else timeout,
                          metadata=self._metadata())
        except grpc.RpcError as error:
            raise self.error_of(error) from error

    def ask_for_many(self, method: Any, request: Any) -> Iterator[Any]:
        """Yields all answers to one request, without a time limit. Raises MillraceError."""
        call = self.begin(method, request)
        try:
            yield from call
        except grpc.RpcError as error:
            raise self.error_of(error) from error
        finally:
            call.cancel()  # In case the caller stops early.

    def begin(self, method: Any, request: Any) -> Any:
        """Starts a streaming call, with one request or an iterator of requests. Does not wait."""
        return method(request, metadata=self._metadata())

    def error_of(self, error: grpc.RpcError) -> MillraceError:
        """Converts a gRPC error to this package's type; the caller raises it from `error`."""
        return from_rpc_error(error, self._token_advice)

    def _metadata(self) -> list[tuple[str, str]]:
        token = self._token()
        return [("authorization", f"Bearer {token}")] if token else []


def _check_address(address: str) -> None:
    """Raises ValueError for a URL or a missing port: gRPC would resolve "http", or use port 443."""
    if address.startswith(_SCHEMES_OF_GRPC):
        return
    scheme, found, _ = address.partition("://")
    if found:
        raise ValueError(f"address {address!r}: leave out {scheme}://, and write HOST:PORT, as "
                         "127.0.0.1:50051")
    if not _HOST_AND_PORT.fullmatch(address):
        raise ValueError(f"address {address!r} has no port; write HOST:PORT, as 127.0.0.1:50051 or "
                         "[::1]:50051")


def _open(address: str, tls: Tls | None) -> grpc.Channel:
    _check_address(address)
    options: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEPALIVE_ANSWER_MS),
        # gRPC also sends pings of its own, for measurement. It waits a minute for their answers,
        # and delays the keepalive meanwhile.
        ("grpc.http2.ping_timeout_ms", _KEEPALIVE_ANSWER_MS),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", _FIRST_TRY_MS),
        ("grpc.max_reconnect_backoff_ms", _LONGEST_TRY_MS),
    ]
    if tls is None:
        return grpc.insecure_channel(address, options)
    if tls.server_name:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return grpc.secure_channel(address, tls.credentials(), options)
