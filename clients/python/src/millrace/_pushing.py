"""Frames that a program pushes into a stream without a camera, and what becomes of each."""

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
    """A picture, and what its sender knows of it.

    `id` comes back with the outcome. `capture_time`, with a time zone, is for all frames of a call
    or for none: with it, a frame before which others are missing is dropped as GAP. `label`: what
    is right for it, where the stream learns from labels.
    """

    picture: Picture
    id: str = ""
    capture_time: datetime.datetime | None = None
    label: Label | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class FrameOutcome:
    """What became of one frame: one of `prediction`, `dropped`, `skipped` and `refused` says it."""

    id: str
    # None where it got no number, or was dropped before the model could look at it.
    frame_number: int | None = None
    prediction: Prediction | None = None
    # Why it got no prediction.
    dropped: DropReason | None = None
    # There are more frames a second than the stream's `source.max_fps`.
    skipped: bool = False
    # Why it was not taken, in words: it is no picture, say. The frames after it are.
    refused: str = ""
    # What became of its label, where it had one and was predicted.
    label: LabelOutcome | None = None


class Pushing(Iterator[FrameOutcome]):
    """Iterates over the outcomes of frames while they are sent: one for each. A context manager.

    Frames are taken from the iterable on a thread of gRPC's, as fast as the model takes them; who
    does not iterate holds them back. Ends when each has its outcome. Raises MillraceError, and
    whatever the iterable raises. Belongs to one thread; close() may be called from any.
    """

    def __init__(self, connection: Connection, stream: str, frames: Iterable[Frame | Picture],
                 parts: Parts | None):
        self._connection = connection
        self._failure: Exception | None = None  # Of the iterable.
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
        """Waits until the frames can be taken. Where they cannot, the next outcome raises why."""
        self._call.initial_metadata()

    def close(self) -> None:
        """Sends no more, and wants no more outcomes. Idempotent, from any thread."""
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
            except Exception as error:  # Of the user's own; gRPC would only log it.
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
