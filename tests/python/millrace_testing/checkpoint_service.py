"""The checkpoints of the fake server: every name finds one, with the test's files."""

from collections.abc import Iterator
from typing import Any

from millrace.v1 import checkpoint_service_pb2 as messages
from millrace.v1 import checkpoint_service_pb2_grpc

FILES = {"stage-0.safetensors": b"weights" * 9, "empty": b"", "manifest.json": b"{}"}


class Checkpoints(checkpoint_service_pb2_grpc.CheckpointServiceServicer):
    """Sends `server.files` in pieces of four bytes; then fails with `server.download_error`."""

    def __init__(self, server: Any):
        self._server = server

    def CreateCheckpoint(self, request, context) -> messages.CreateCheckpointResponse:
        self._server.asked(request, context)
        return messages.CreateCheckpointResponse(checkpoint=_checkpoint(request.stream, 9))

    def ListCheckpoints(self, request, context) -> messages.ListCheckpointsResponse:
        self._server.asked(request, context)
        return messages.ListCheckpointsResponse(
            checkpoints=[_checkpoint(request.stream, sample) for sample in (9, 4)])

    def RestoreCheckpoint(self, request, context) -> messages.RestoreCheckpointResponse:
        self._server.asked(request, context)
        checkpoint = messages.Checkpoint(stream=request.stream, name=request.name)
        return messages.RestoreCheckpointResponse(checkpoint=checkpoint)

    def DeleteCheckpoint(self, request, context) -> messages.DeleteCheckpointResponse:
        self._server.asked(request, context)
        return messages.DeleteCheckpointResponse()

    def DownloadCheckpoint(self, request, context) -> Iterator[messages.DownloadCheckpointResponse]:
        self._server.asked(request, context)
        for file, data, size in _pieces(self._server.files):
            yield messages.DownloadCheckpointResponse(file=file, data=data, file_bytes=size)
        if self._server.download_error:
            self._server.download_error.end(context)


def _checkpoint(stream: str, sample: int) -> messages.Checkpoint:
    return messages.Checkpoint(stream=stream, name=f"checkpoint-{sample:012}", bytes=70,
                               create_time={"seconds": 1}, sample=sample, score=0.5, kept=True)


def _pieces(files: dict[str, bytes]) -> Iterator[tuple[str, bytes, int]]:
    for file, content in files.items():
        for begin in range(0, max(len(content), 1), 4):
            yield file, content[begin:begin + 4], len(content)
