"""The checkpoints of a camera stream, which the server keeps."""

import dataclasses
import datetime
import pathlib
import tempfile
from typing import Any, Self

from millrace._connection import CHANGE_TIMEOUT_S, Connection
from millrace._wire import time_of
from millrace.v1 import checkpoint_service_pb2 as messages

# The next validated weights take some hundred frames: minutes, with a slow camera.
_CREATE_TIMEOUT_S = 600.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A snapshot of a learner's weights."""

    stream: str
    # Unique in its stream.
    name: str
    # When it was written, in UTC, by the server's clock.
    create_time: datetime.datetime | None
    # The size of its stages' files.
    bytes: int
    # The number of the last frame learned from, counted over all admitted frames.
    sample: int
    # Loss divided by the no-motion loss, over the predictions that validated its weights; lower is
    # better. 1: the weights were not validated.
    score: float
    # Whether it is kept until it is deleted: true for checkpoints of create().
    kept: bool

    @classmethod
    def of(cls, message: messages.Checkpoint) -> Self:
        """Converts the server's message."""
        return cls(stream=message.stream, name=message.name,
                   create_time=time_of(message, "create_time"), bytes=message.bytes,
                   sample=message.sample, score=message.score, kept=message.kept)


class Checkpoints:
    """The checkpoints of one camera stream. Raises NotFound if there is no such stream or
    checkpoint, and FailedPrecondition if the stream keeps no checkpoints. restore(), delete() and
    download() need the stream's name."""

    def __init__(self, connection: Connection, stream: str):
        self._connection = connection
        self._stubs = connection.checkpoints
        self._stream = stream

    def create(self, *, timeout: float = _CREATE_TIMEOUT_S) -> Checkpoint:
        """Waits for the next validated weights, some hundred frames, and keeps them until they are
        deleted. Raises FailedPrecondition if the learner does not learn."""
        request = messages.CreateCheckpointRequest(stream=self._stream)
        answer = self._connection.ask(self._stubs.CreateCheckpoint, request, timeout)
        return Checkpoint.of(answer.checkpoint)

    def list(self) -> tuple[Checkpoint, ...]:
        """All complete checkpoints, newest first."""
        request = messages.ListCheckpointsRequest(stream=self._stream)
        answer = self._connection.ask(self._stubs.ListCheckpoints, request)
        return tuple(Checkpoint.of(each) for each in answer.checkpoints)

    def restore(self, name: str, *, timeout: float = CHANGE_TIMEOUT_S) -> Checkpoint:
        """Restores a checkpoint; newer ones are set aside. Subscriptions restart by themselves.
        Raises DataLoss if it is damaged; then the stream continues as it was."""
        request = messages.RestoreCheckpointRequest(stream=self._stream, name=name)
        answer = self._connection.ask(self._stubs.RestoreCheckpoint, request, timeout)
        return Checkpoint.of(answer.checkpoint)

    def delete(self, name: str) -> None:
        """Deletes a checkpoint."""
        request = messages.DeleteCheckpointRequest(stream=self._stream, name=name)
        self._connection.ask(self._stubs.DeleteCheckpoint, request)

    def download(self, name: str, folder: str | pathlib.Path) -> pathlib.Path:
        """Copies a checkpoint's files to a new folder with its name in `folder`, and returns the
        new folder's path. The new folder appears only when it is complete. Raises FileExistsError
        if it exists already."""
        folder = pathlib.Path(folder)
        target = folder / _plain(name)
        if target.exists():
            raise FileExistsError(f"{target} exists already")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as unfinished:
            files = pathlib.Path(unfinished) / name
            files.mkdir()
            self._write(name, files)
            return files.rename(target)

    def _write(self, name: str, folder: pathlib.Path) -> None:
        request = messages.DownloadCheckpointRequest(stream=self._stream, name=name)
        pieces: Any = self._connection.ask_for_many(self._stubs.DownloadCheckpoint, request)
        for piece in pieces:
            with open(folder / _plain(piece.file), "ab") as file:
                file.write(piece.data)


def _plain(name: str) -> str:
    """Returns the name if it is a plain file name without a path."""
    if name in ("", ".", "..") or name != pathlib.PurePath(name).name:
        raise ValueError(f"{name!r} is no name of a file")
    return name
