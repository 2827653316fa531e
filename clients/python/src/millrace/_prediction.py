"""The model's prediction for one frame."""

import dataclasses
import datetime
import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from millrace._size import Size
from millrace._status import StreamStatus
from millrace._wire import WireEnum, duration_of, explained_share, time_of
from millrace.v1 import prediction_pb2

_TYPES: dict[int, np.dtype] = {prediction_pb2.DATA_TYPE_FLOAT32: np.dtype("<f4"),
                               prediction_pb2.DATA_TYPE_UINT8: np.dtype("u1")}


class GridView(NamedTuple):
    """The position of the flow's grid in the camera's picture: scaled by one factor; the part that
    does not fit the grid's shape is cropped evenly. The centre of cell [y, x] is at the camera's
    column left + (x + 0.5) * scale and row top + (y + 0.5) * scale. `flow * scale` is the motion in
    camera pixels."""

    scale: float
    left: float
    top: float


class Flag(WireEnum):
    """A warning about a prediction."""

    UNSPECIFIED = 0
    NON_FINITE = 1
    REPEATED_PICTURE = 2
    FROZEN_PICTURE = 3
    CUT = 4
    IMPLAUSIBLE = 5
    DRIFT = 6
    AFTER_GAP = 7
    NEW_SIZE = 8


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Prediction:
    """The model's prediction for one frame, made before it learned from that frame, and the count
    of lost predictions before it.

    Arrays are read-only and created on first access; copy one to change it. Arrays and `message`
    are as the server sent them: proto/millrace/v1/prediction.proto describes each.
    """

    message: prediction_pb2.Prediction
    # Predictions that this subscription lost since the previous one, and since its start: it read
    # too slowly, or was away for longer than the server holds them.
    dropped: int = 0
    dropped_total: int = 0
    # Whether this is the first prediction after a lost connection that could not be resumed,
    # because the server or the stream's model was restarted. `dropped` does not count the ones in
    # between.
    restarted: bool = False
    # The stream's run, and this prediction's number in it: from 1, without gaps. Empty and 0 if the
    # server does not send them.
    run_id: str = ""
    sequence: int = 0
    # The stream's status at the time of the call: for Client.latest(), else None.
    status: StreamStatus | None = None

    def __repr__(self) -> str:
        said = [repr(self.stream), f"frame {self.frame_number}", self._shown_result(),
                f"{self.delay / datetime.timedelta(milliseconds=1):.0f} ms",
                *(str(flag) for flag in sorted(self.flags)),
                f"{self.dropped} dropped before it" if self.dropped else ""]
        return f"Prediction({', '.join(each for each in said if each)})"

    def _shown_result(self) -> str:
        if self.best_class is not None:
            return f"class {self.best_class_name or self.best_class!r}"
        return explained_share(self.loss, self.loss_no_motion)

    @property
    def stream(self) -> str:
        return self.message.stream

    @property
    def epoch(self) -> int:
        """Increases with each reconnect of a camera, new size, new round of a file, new pushing
        client, new process."""
        return self.message.epoch

    @property
    def frame_number(self) -> int:
        """Counts the stream's frames from 0, including frames without a prediction."""
        return self.message.frame_number

    @property
    def camera_time(self) -> datetime.datetime | None:
        """When the frame was taken, in UTC, by the camera's own clock; None if unknown."""
        return time_of(self.message, "camera_time")

    @property
    def arrival_time(self) -> datetime.datetime | None:
        """When the frame arrived at the server, in UTC."""
        return time_of(self.message, "arrival_time")

    @property
    def emission_time(self) -> datetime.datetime | None:
        """When the server emitted the prediction, in UTC."""
        return time_of(self.message, "emission_time")

    @property
    def delay(self) -> datetime.timedelta:
        """From arrival to emission, exact even if clocks jump."""
        return duration_of(self.message, "delay") or datetime.timedelta()

    @property
    def age(self) -> datetime.timedelta | None:
        """The prediction's age when the server sent it. None except for Client.latest()."""
        return None if self.status is None else self.status.prediction_age

    @property
    def delay_frames(self) -> int:
        """The number of frames that arrived after this one before its prediction."""
        return self.message.delay_frames

    @property
    def loss(self) -> float:
        """The model's loss; lower is better."""
        return self.message.loss

    @property
    def loss_no_motion(self) -> float:
        """The loss of predicting that nothing moves; 0 if the model learns from labels."""
        return self.message.loss_no_motion

    @property
    def update_count(self) -> int:
        """Updates of the last stage's weights before this prediction."""
        return self.message.update_count

    @property
    def flags(self) -> frozenset[Flag]:
        """Warnings; empty for an ordinary prediction."""
        return frozenset(Flag(flag) for flag in self.message.flags)

    @property
    def learned_from(self) -> bool:
        """Whether the model learns from this frame."""
        return self.message.learned_from

    @property
    def grid(self) -> Size | None:
        """The size of the flow, in cells."""
        return _size_of(self.message, "grid")

    @property
    def camera(self) -> Size | None:
        """The size of the camera's pictures, in square pixels; None while unknown."""
        return _size_of(self.message, "camera")

    @property
    def view(self) -> GridView | None:
        """The position of the grid in the camera's picture; None while unknown, or if the model
        learns from labels."""
        if not self.message.HasField("view"):
            return None
        view = self.message.view
        return GridView(scale=view.scale, left=view.left, top=view.top)

    @functools.cached_property
    def flow(self) -> npt.NDArray[np.float32] | None:
        """The motion, [height, width, 2]: (dx, dy) in cells of the grid; multiply by `view.scale`
        for camera pixels. None if it was not requested or the model learns from labels."""
        return _array_of(self.message, "flow")

    @functools.cached_property
    def uncertainty(self) -> npt.NDArray[np.float32] | None:
        """The expected error of the flow, [height, width], in cells of the grid: large where the
        flow should not be trusted, infinite where it is not finite. None if it was not requested (Parts) or the model learns from
        labels."""
        return _array_of(self.message, "uncertainty")

    @functools.cached_property
    def next_picture(self) -> npt.NDArray[np.uint8] | None:
        """The expected next picture, [height, width, 3]: red, green, blue. None if it was not
        requested or the model does not predict it."""
        return _array_of(self.message, "next_picture")

    @functools.cached_property
    def outputs(self) -> npt.NDArray[np.float32] | None:
        """The probability of each class, or the values. None if the model learns without labels."""
        return _array_of(self.message, "outputs")

    @property
    def preview(self) -> bytes | None:
        """A JPEG picture for people. None if it was not requested (Parts)."""
        return self.message.preview or None

    @property
    def best_class(self) -> int | None:
        """The most probable class, counted from 0."""
        return self.message.best_class if self.message.HasField("best_class") else None

    @property
    def best_class_name(self) -> str:
        """The name of that class. Empty if the classes have no names."""
        return self.message.best_class_name

    @property
    def labelled(self) -> int:
        """The number of labelled frames that the model learned from at this frame's step."""
        return self.message.labelled


def _size_of(message: prediction_pb2.Prediction, field: str) -> Size | None:
    size = getattr(message, field)
    return Size(size.width, size.height) if message.HasField(field) else None


def _array_of(message: prediction_pb2.Prediction, field: str) -> npt.NDArray[Any] | None:
    """A view of the tensor's bytes. None if it is absent, or of an unknown type."""
    tensor = getattr(message, field)
    if tensor.data_type not in _TYPES:
        return None
    return np.frombuffer(tensor.data, _TYPES[tensor.data_type]).reshape(tuple(tensor.shape))
