"""Labels of frames, and their outcomes."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._connection import Connection
from millrace._wire import WireEnum
from millrace.v1 import label_service_pb2 as messages

# A class by number or name, or values.
Label = int | str | Sequence[float] | npt.NDArray[Any]

# The server's limit per call.
_AT_ONCE = 4096


class LabelResult(WireEnum):
    """Whether a label was taken."""

    UNSPECIFIED = 0
    ADDED = 1
    # Its frame has left the model's learning window.
    TOO_LATE = 2
    UNKNOWN_FRAME = 3
    # The frame already has a label, which stays.
    ALREADY_LABELLED = 4
    INVALID = 5


@dataclasses.dataclass(frozen=True)
class LabelOutcome:
    """The outcome of one label; `message` is the reason of a refusal in words."""

    frame_number: int
    result: LabelResult
    message: str

    @property
    def added(self) -> bool:
        return self.result is LabelResult.ADDED


def add_labels(connection: Connection, stream: str,
               labels: Mapping[int, Label]) -> list[LabelOutcome]:
    """Implements Client.add_labels()."""
    outcomes = []
    for some in _portions([label_message(number, label) for number, label in labels.items()]):
        request = messages.AddLabelsRequest(stream=stream, labels=some)
        response = connection.ask(connection.labels.AddLabels, request)
        outcomes += [LabelOutcome(each.frame_number, LabelResult(each.result), each.message)
                     for each in response.outcomes]
    return outcomes


def _portions(labels: list[messages.FrameLabel]) -> Iterator[list[messages.FrameLabel]]:
    for begin in range(0, len(labels), _AT_ONCE):
        yield labels[begin:begin + _AT_ONCE]


def label_message(frame_number: int, label: Label) -> messages.FrameLabel:
    """A label as a message."""
    frame_number = int(frame_number)
    if isinstance(label, str):
        return messages.FrameLabel(frame_number=frame_number, class_name=label)
    if isinstance(label, (int, np.integer)):
        return messages.FrameLabel(frame_number=frame_number, class_number=int(label))
    values = messages.LabelValues(values=[float(value) for value in label])
    return messages.FrameLabel(frame_number=frame_number, values=values)
