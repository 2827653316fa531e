"""Subscriptions to predictions: their options, and where to resume after a lost connection."""

import dataclasses
from collections.abc import Callable
from typing import Any

import grpc

from millrace._connection import Connection
from millrace._errors import MillraceError, OutOfRange
from millrace._prediction import Prediction
from millrace._status import StatusLog, StreamStatus
from millrace._wire import WireEnum
from millrace.v1 import prediction_service_pb2 as messages

# A function that gets the stream's status.
OnStatus = Callable[[StreamStatus], object]


class Policy(WireEnum):
    """Which prediction a slow client gets next. A slow client never slows the model or other
    clients."""

    # Same as DROP_OLDEST.
    UNSPECIFIED = 0
    # The newest prediction, skipping older ones: for displays and control.
    LATEST = 1
    # The oldest of the last `depth` that it has not received.
    DROP_OLDEST = 2
    # Every prediction: for recorders. A client that falls behind by more than `depth` gets
    # ResourceExhausted.
    LOSSLESS = 3


@dataclasses.dataclass(frozen=True)
class Parts:
    """The arrays that a prediction carries, the bulk of a message. `Parts()`: no arrays."""

    flow: bool = False
    next_picture: bool = False
    outputs: bool = False
    # A JPEG picture for people, some kilobytes.
    preview: bool = False
    # The expected error of the flow.
    uncertainty: bool = False

    def message(self) -> messages.Parts:
        return messages.Parts(**dataclasses.asdict(self))


class PredictionSource:
    """A Source of predictions, which resumes after the last received one."""

    def __init__(self, connection: Connection, request: messages.SubscribeRequest,
                 on_status: OnStatus | None = None):
        self._connection = connection
        self._on_status = on_status or StatusLog().tell
        self._request = request  # Its `resume` is the resume point.
        self._dropped_before = 0  # In earlier calls.
        self._dropped_total = 0
        self._restarted = False

    def start(self, again: bool) -> Any:
        # Stays set until a prediction comes.
        self._restarted |= again and not self._request.HasField("resume")
        self._dropped_before = self._dropped_total
        return self._connection.begin(self._connection.predictions.Subscribe, self._request)

    def item(self, response: messages.SubscribeResponse) -> Prediction | None:
        self._dropped_total = self._dropped_before + response.dropped_total
        if response.run_id:
            self._request.resume.run_id = response.run_id
            self._request.resume.sequence = response.sequence
        if response.HasField("status"):
            self._on_status(StreamStatus.of(response.status))
            return None
        restarted, self._restarted = self._restarted, False
        return Prediction(message=response.prediction, dropped=response.dropped,
                          dropped_total=self._dropped_total, restarted=restarted,
                          run_id=response.run_id, sequence=response.sequence)

    def error_of(self, error: grpc.RpcError) -> MillraceError:
        return self._connection.error_of(error)

    def forget_place(self, error: MillraceError) -> bool:
        if not (isinstance(error, OutOfRange) and self._request.HasField("resume")):
            return False
        self._request.ClearField("resume")
        return True
