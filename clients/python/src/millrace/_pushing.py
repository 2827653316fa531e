"""Frames that a program pushes into a stream without a camera, and their outcomes."""

import dataclasses
import datetime
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Self

import grpc

from millrace._connection import Connection
from millrace._labels import Label, LabelOutcome, LabelResult, label_message
from millrace._pictures import Picture, put_picture
from millrace._prediction import Prediction
from millrace._prediction_source import Parts
from millrace._streams import DropReason
from millrace.v1 import frame_service_pb2 as messages


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """A picture, and its sender's data about it.

    The outcome returns `id`. `capture_time` needs a time zone; all frames of a call have it, or
    none has it. With it, a frame after missing frames is dropped as GAP. `label`: the correct
    answer, if the stream learns from labels.
    """

    picture: Picture
    id: str = ""
    capture_time: datetime.datetime | None = None
    label: Label | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class FrameOutcome:
    """The outcome of one frame: exactly one of `prediction`, `dropped`, `skipped` and `refused` is
    set."""

    id: str
    # None if it has no number, or if it was dropped before it reached the model.
    frame_number: int | None = None
    prediction: Prediction | None = None
    # The reason why it has no prediction.
    dropped: DropReason | None = None
    # More frames came than the stream's `source.max_fps` allows.
    skipped: bool = False
    # Why it was refused, in words, such as an invalid picture. Later frames are still taken.
    refused: str = ""
    # The outcome of its label, if it had one and was predicted.
    label: LabelOutcome | None = None


class Pushing(Iterator[FrameOutcome]):
    """Iterates over the outcomes of frames while they are sent: one for each. A context manager.

    A gRPC thread takes frames from the iterable as fast as the model takes them; a caller that does
    not iterate delays it. Ends when each frame has its outcome. Raises MillraceError, and
    exceptions of the iterable. Belongs to one thread; close() may be called from any.
    """

    def __init__(self, connection: Connection, stream: str, frames: Iterable[Frame | Picture],
                 parts: Parts | None):
        self._connection = connection
        self._failure: Exception | None = None  # The iterable's exception.
        self._closed = threading.Event()
        first = messages.PushRequest(stream=stream,
                                     parts=None if parts is None else parts.message())
        self._call = connection.begin(connection.frames.Push, self._requests(first, iter(frames)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __next__(self) -> FrameOutcome:
        try:
            return _outcome(next(self._call))
        except grpc.RpcError as error:
            if self._failure is not None:
                raise self._failure from None
            if self._closed.is_set():
                raise StopIteration from None
            raise self._connection.error_of(error) from error

    def wait_for_place(self) -> None:
        """Waits until the server accepts frames. If it refuses, the next outcome raises the
        error."""
        self._call.initial_metadata()

    def close(self) -> None:
        """Ends the call: no more frames and outcomes. Idempotent, from any thread."""
        self._closed.set()
        self._call.cancel()

    def _requests(self, first: messages.PushRequest,
                  frames: Iterator[Frame | Picture]) -> Iterator[messages.PushRequest]:
        yield first
        number = 0
        while True:
            try:
                frame = next(frames)
                message = _message(frame if isinstance(frame, Frame) else Frame(frame, str(number)))
            except StopIteration:
                return
            except Exception as error:  # From the user's iterable; gRPC would only log it.
                self._failure = error
                raise
            yield messages.PushRequest(frame=message)
            number += 1


def _message(frame: Frame) -> messages.PushedFrame:
    message = messages.PushedFrame(id=frame.id)
    put_picture(frame.picture, message)
    if frame.capture_time is not None:
        if frame.capture_time.tzinfo is None:
            raise ValueError("Frame.capture_time has no time zone, as datetime.datetime.now("
                             "datetime.UTC) has one")
        message.capture_time.FromDatetime(frame.capture_time)
    if frame.label is not None:
        message.label.CopyFrom(label_message(0, frame.label))
    return message


def _outcome(response: Any) -> FrameOutcome:
    kind = response.WhichOneof("outcome")
    label = response.label
    return FrameOutcome(
        id=response.id,
        frame_number=response.frame_number if response.HasField("frame_number") else None,
        prediction=Prediction(message=response.prediction) if kind == "prediction" else None,
        dropped=DropReason(response.dropped) if kind == "dropped" else None,
        skipped=kind == "skipped",
        refused=response.refused.message,
        label=(LabelOutcome(label.frame_number, LabelResult(label.result), label.message)
               if response.HasField("label") else None))
