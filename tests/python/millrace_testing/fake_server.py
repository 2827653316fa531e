"""A server in this process that speaks millrace.v1: the test decides its answers.

    with FakeServer() as server:
        server.publish()                      # A prediction of its one stream.
        server.tell(source_state=...)         # That stream's status.
        server.refuse("Subscribe", error)     # The next call of that name fails so.
        server.end_calls(error)               # Open calls fail so.

It records the requests and metadata (`requests`, `metadata`), by the call's name.
"""

import collections
import concurrent.futures
import dataclasses
import threading
from typing import Any

import grpc
from millrace_testing import checkpoint_service, frame_service, lives, services

from millrace.v1 import (checkpoint_service_pb2_grpc, frame_service_pb2_grpc,
                         label_service_pb2_grpc, learner_service_pb2_grpc,
                         prediction_service_pb2_grpc, stream_service_pb2_grpc)


@dataclasses.dataclass(frozen=True)
class Error:
    """The failure of a call. `details`: a google.rpc.Status in wire format."""

    code: grpc.StatusCode
    words: str = "as the test wants it"
    details: bytes = b""

    def end(self, context: grpc.ServicerContext) -> None:
        if self.details:
            context.set_trailing_metadata((("grpc-status-details-bin", self.details),))
        context.abort(self.code, self.words)


UNAVAILABLE = Error(grpc.StatusCode.UNAVAILABLE)


class FakeServer:
    """See above. `run_id` identifies the run of its stream. Thread-safe."""

    def __init__(self, run_id: str = "first", credentials: grpc.ServerCredentials | None = None):
        self.life = lives.Life(run_id)
        self.events = lives.Life(run_id)
        self.requests: dict[str, list] = collections.defaultdict(list)
        self.metadata: dict[str, dict[str, Any]] = {}
        self.files = dict(checkpoint_service.FILES)  # The files of each checkpoint.
        self.download_error: Error | None = None
        self._asked = threading.Condition()  # Guards the recorded requests and the planned refusals.
        self._refusals: dict[str, list[Error]] = collections.defaultdict(list)
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
        self._serve()
        port = (self._server.add_secure_port("127.0.0.1:0", credentials) if credentials
                else self._server.add_insecure_port("127.0.0.1:0"))
        self.address = f"127.0.0.1:{port}"

    def __enter__(self) -> "FakeServer":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends every call and connection, as a server's restart does. Idempotent."""
        self.life.end(UNAVAILABLE)
        self.events.end(UNAVAILABLE)
        self._server.stop(grace=None).wait()

    def publish(self, count: int = 1, **fields: Any) -> None:
        for _ in range(count):
            self.life.add(fields)

    def tell(self, **status: Any) -> None:
        """Publishes a StreamStatus with these fields. It takes a number like a prediction."""
        self.life.add({"status": {"stream": "door", **status}})

    def end_calls(self, error: Error | None) -> None:
        """Ends the open calls of Subscribe; None: with OK."""
        self.life.end(error)

    def refuse(self, name: str, *errors: Error) -> None:
        with self._asked:
            self._refusals[name] += errors

    def wait_for_requests(self, name: str, count: int) -> None:
        """Waits for `count` requests, including refused ones."""
        with self._asked:
            self._asked.wait_for(lambda: len(self.requests[name]) >= count)

    def asked(self, request: Any, context: grpc.ServicerContext) -> None:
        """Records the request, and ends the call if the test planned a refusal."""
        name = type(request).__name__.removesuffix("Request")
        with self._asked:
            copy = type(request)()
            copy.CopyFrom(request)
            self.requests[name].append(copy)
            self.metadata[name] = dict(context.invocation_metadata())
            self._asked.notify_all()
            refusal = self._refusals[name].pop(0) if self._refusals[name] else None
        if refusal:
            refusal.end(context)

    def _serve(self) -> None:
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            services.Predictions(self), self._server)
        stream_service_pb2_grpc.add_StreamServiceServicer_to_server(
            services.Streams(self), self._server)
        frame_service_pb2_grpc.add_FrameServiceServicer_to_server(
            frame_service.Frames(self), self._server)
        label_service_pb2_grpc.add_LabelServiceServicer_to_server(
            services.Labels(self), self._server)
        checkpoint_service_pb2_grpc.add_CheckpointServiceServicer_to_server(
            checkpoint_service.Checkpoints(self), self._server)
        learner_service_pb2_grpc.add_LearnerServiceServicer_to_server(
            services.Learners(self), self._server)
