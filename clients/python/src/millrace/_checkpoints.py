"""The checkpoints of a camera stream: what its learner had learned, kept by the server."""

import dataclasses
import datetime
import pathlib
import tempfile
from typing import Any, Self

from millrace._connection import CHANGE_TIMEOUT_S, Connection
from millrace._wire import time_of
from millrace.v1 import checkpoint_service_pb2 as messages

# The next weights that prove good take some hundred frames, of a slow camera minutes.
_CREATE_TIMEOUT_S = 600.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What a learner had learned at one moment."""

    stream: str
    # Unique in its stream.
    name: str
    # When it was written, in UTC, by the server's clock.
    create_time: datetime.datetime | None
    # The size of all its files.
    bytes: int
    # The number, counted over all frames that were admitted, of the last one learned from.
    sample: int
    # Loss over that of no motion of the predictions with which its weights had proven good; the
    # lower the better. 1: of none.
    score: float
    # Whether it stays until it is deleted, as one of create() does.
    kept: bool

    @classmethod
    def of(cls, message: messages.Checkpoint) -> Self:
        """The same, as the server sent it."""
        return cls(stream=message.stream, name=message.name,
                   create_time=time_of(message, "create_time"), bytes=message.bytes,
                   sample=message.sample, score=message.score, kept=message.kept)


class Checkpoints:
    """The checkpoints of one camera stream. Raises NotFound if there is no such stream or
    checkpoint, and FailedPrecondition if the stream keeps none. The stream must be named for what
    names a checkpoint."""

    def __init__(self, connection: Connection, stream: str):
        self._connection = connection
        self._stubs = connection.checkpoints
        self._stream = stream

    def create(self, *, timeout: float = _CREATE_TIMEOUT_S) -> Checkpoint:
        """Waits for the next weights that prove good, some hundred frames, and has them kept until
        they are deleted. Raises FailedPrecondition where the learner does not learn."""
        request = messages.CreateCheckpointRequest(stream=self._stream)
        answer = self._connection.ask(self._stubs.CreateCheckpoint, request, timeout)
        return Checkpoint.of(answer.checkpoint)

    def list(self) -> tuple[Checkpoint, ...]:
        """All that are complete, the newest first."""
        request = messages.ListCheckpointsRequest(stream=self._stream)
        answer = self._connection.ask(self._stubs.ListCheckpoints, request)
        return tuple(Checkpoint.of(each) for each in answer.checkpoints)

    def restore(self, name: str, *, timeout: float = CHANGE_TIMEOUT_S) -> Checkpoint:
        """Goes back to one; newer ones are set aside. Subscriptions begin anew by themselves.
        Raises DataLoss where it is damaged; then the stream goes on as it was."""
        request = messages.RestoreCheckpointRequest(stream=self._stream, name=name)
        answer = self._connection.ask(self._stubs.RestoreCheckpoint, request, timeout)
        return Checkpoint.of(answer.checkpoint)

    def delete(self, name: str) -> None:
        """Removes one."""
        request = messages.DeleteCheckpointRequest(stream=self._stream, name=name)
        self._connection.ask(self._stubs.DeleteCheckpoint, request)

    def download(self, name: str, folder: str | pathlib.Path) -> pathlib.Path:
        """Copies one's files to a folder of its name in `folder`, and returns that one's path. It
        is there once it is complete. Raises FileExistsError where something is there already."""
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
    """The name, if it is one of a file and leads nowhere else."""
    if name in ("", ".", "..") or name != pathlib.PurePath(name).name:
        raise ValueError(f"{name!r} is no name of a file")
    return name
