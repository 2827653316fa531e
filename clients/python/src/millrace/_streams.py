"""A snapshot of a camera stream and its learner."""

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format

from millrace._size import Size
from millrace._states import LearnerState, OverloadKind, SourceState
from millrace._wire import WireEnum, duration_of, explained_share, plain
from millrace.v1 import stream_pb2


class DropReason(WireEnum):
    """Why a frame got no prediction."""

    UNSPECIFIED = 0
    # The learner was too slow.
    QUEUE_FULL = 1
    NO_PREDECESSOR = 2
    GAP = 3
    REJECTED = 4
    SHUTDOWN = 5
    # The learner was paused.
    PAUSED = 6
    # Processes on other hosts were missing or lost.
    RANKS_LOST = 7


class LabelKind(WireEnum):
    """The kind of a label."""

    UNSPECIFIED = 0
    CLASS = 1
    VALUES = 2


@dataclasses.dataclass(frozen=True)
class FrameCounts:
    """The outcomes of all frames: received = predicted + the sum of dropped + in_flight."""

    received: int
    predicted: int
    dropped: Mapping[DropReason, int]
    in_flight: int


@dataclasses.dataclass(frozen=True)
class Promise:
    """The plan's promise for the camera, by the measured costs, and whether the last ten seconds
    kept it."""

    # Predictions a second.
    frames_per_second: float
    # From a frame's arrival to its prediction.
    delay: datetime.timedelta
    # Whether the rate is reached; Stream.predictions_per_second has the actual rate.
    rate_kept: bool
    # Whether the delay is met; Stream.delay_p50 has the actual delay.
    delay_kept: bool


@dataclasses.dataclass(frozen=True)
class LabelledTask:
    """The task of a model that learns from labels: `outputs` classes or values, and its learning
    window of `window` frames."""

    kind: LabelKind
    outputs: int
    class_names: tuple[str, ...]
    window: int


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """A snapshot of a camera stream and its learner.

    `message` has more, above all the schedule: proto/millrace/v1/stream.proto.
    """

    message: stream_pb2.Stream

    def __repr__(self) -> str:
        said = [repr(self.name), _with_cause(self.source_state, self.source_cause),
                _with_cause(self.learner_state, self.learner_cause), self.overload_cause,
                f"{self.frames_per_second_in:.1f} frames/s in",
                f"{self.predictions_per_second:.1f} predictions/s",
                explained_share(self.loss, self.loss_no_motion)]
        return f"Stream({', '.join(each for each in said if each)})"

    @property
    def name(self) -> str:
        return self.message.name

    @property
    def uri(self) -> str:
        """The source of its frames, without user and password."""
        return self.message.uri

    @property
    def etag(self) -> str:
        """Identifies its configuration's version: for update_stream() and delete_stream()."""
        return self.message.etag

    @property
    def config(self) -> dict[str, Any]:
        """Its configuration, as an entry of `streams` in the configuration file. A copy."""
        config: dict[str, Any] = plain(json_format.MessageToDict(self.message.config))
        return config

    @property
    def run_id(self) -> str:
        """Identifies its run since it was created or recreated: Prediction.run_id."""
        return self.message.run_id

    @property
    def source_state(self) -> SourceState:
        return SourceState(self.message.source_state)

    @property
    def source_cause(self) -> str:
        """The problem of the source, in words; else empty."""
        return self.message.source_cause

    @property
    def learner_state(self) -> LearnerState:
        return LearnerState(self.message.learner_state)

    @property
    def learner_cause(self) -> str:
        """Why the learner failed, in words; else empty."""
        return self.message.learner_cause

    @property
    def overload(self) -> OverloadKind:
        """The work that it has dropped for ten seconds; `message.overload` has the rates and
        remedies."""
        return OverloadKind(self.message.overload.kind)

    @property
    def overload_cause(self) -> str:
        """The dropped work, in words; else empty."""
        return self.message.overload.cause

    @property
    def overload_remedy(self) -> str:
        """The configuration's values that end the overload, in words."""
        return self.message.overload.remedy

    @property
    def promise(self) -> Promise | None:
        """The plan's promise, and whether it is kept. None if the server does not send it."""
        if not self.message.HasField("promise"):
            return None
        promise = self.message.promise
        delay = duration_of(promise, "delay") or datetime.timedelta()
        return Promise(promise.frames_per_second, delay, promise.rate_kept, promise.delay_kept)

    @property
    def epoch(self) -> int:
        """See Prediction.epoch."""
        return self.message.epoch

    @property
    def reconnects(self) -> int:
        """The number of reconnects of the camera."""
        return self.message.reconnects

    @property
    def camera(self) -> Size | None:
        """The size of the camera's pictures, in pixels; None while unknown."""
        size = self.message.camera
        return Size(size.width, size.height) if self.message.HasField("camera") else None

    @property
    def frames(self) -> FrameCounts:
        counts = self.message.frames
        dropped = {DropReason(each.reason): each.frames for each in counts.dropped}
        return FrameCounts(counts.received, counts.predicted, dropped, counts.in_flight)

    @property
    def frames_per_second_in(self) -> float:
        """Over the last ten seconds."""
        return self.message.frames_per_second_in

    @property
    def predictions_per_second(self) -> float:
        """Over the last ten seconds."""
        return self.message.predictions_per_second

    @property
    def delay_p50(self) -> datetime.timedelta | None:
        """The median delay over the last ten seconds."""
        return duration_of(self.message, "delay_p50")

    @property
    def delay_p99(self) -> datetime.timedelta | None:
        """The 99th percentile of the delay over the last ten seconds."""
        return duration_of(self.message, "delay_p99")

    @property
    def loss(self) -> float:
        """The mean loss of the last 200 predictions; 0 before the first."""
        return self.message.loss

    @property
    def loss_no_motion(self) -> float:
        """The mean loss, on the same frames, of predicting that nothing moves."""
        return self.message.loss_no_motion

    @property
    def labelled_task(self) -> LabelledTask | None:
        """The task that it learns from labels. None if it learns without labels."""
        if not self.message.HasField("labelled_task"):
            return None
        task = self.message.labelled_task
        return LabelledTask(LabelKind(task.kind), task.outputs, tuple(task.class_names),
                            task.window)


def _with_cause(state: WireEnum, cause: str) -> str:
    return f"{state}: {cause}" if cause else str(state)
