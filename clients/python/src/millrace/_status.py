"""A stream's status, for clients that wait for its predictions."""

import dataclasses
import datetime
import logging
from typing import Self

from millrace._states import LearnerState, OverloadKind, SourceState
from millrace._wire import duration_of
from millrace.v1 import prediction_service_pb2 as messages

_LOG = logging.getLogger("millrace")

# States with a problem; the other states are temporary.
_BROKEN = (SourceState.BACKING_OFF, SourceState.FAILED, SourceState.STALLED)

# States of a learner that does not predict, though its source may stream.
_IDLE = (LearnerState.FAILED, LearnerState.PAUSED, LearnerState.WAITING_FOR_RANKS)

# Overloads worth a message: learning from fewer frames is planned.
_GIVES_UP = (OverloadKind.DROPS, OverloadKind.ONLY_PREDICTS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StreamStatus:
    """A stream's status: why it does not predict, and which work it drops under overload."""

    stream: str
    source_state: SourceState
    # The problem of the source, in words; else empty.
    source_cause: str
    learner_state: LearnerState
    # Why the learner failed or waits for other hosts, in words; else empty.
    learner_cause: str
    # The age of the stream's newest prediction. None before the first.
    prediction_age: datetime.timedelta | None
    # The work that it drops because its camera sends more than the model has time for.
    overload: OverloadKind
    # The dropped work, and the configuration's values that end the overload, in words; else empty.
    overload_cause: str
    overload_remedy: str

    @classmethod
    def of(cls, message: messages.StreamStatus) -> Self:
        """Converts the server's message."""
        return cls(stream=message.stream, source_state=SourceState(message.source_state),
                   source_cause=message.source_cause,
                   learner_state=LearnerState(message.learner_state),
                   learner_cause=message.learner_cause,
                   prediction_age=duration_of(message, "prediction_age"),
                   overload=OverloadKind(message.overload),
                   overload_cause=message.overload_cause,
                   overload_remedy=message.overload_remedy)

    @property
    def gives_up(self) -> bool:
        """Whether it drops frames, or learns from none. Learning from fewer is planned."""
        return self.overload in _GIVES_UP

    @property
    def predicts(self) -> bool:
        """Whether frames come and the learner predicts them."""
        return (self.source_state is SourceState.STREAMING
                and self.learner_state in (LearnerState.LEARNING, LearnerState.FROZEN))

    def __str__(self) -> str:
        """"yard: its source is BACKING_OFF: no route leads to its address", for people."""
        if self.predicts and self.gives_up:
            return ": ".join(filter(None, (self.stream, self.overload_cause, self.overload_remedy)))
        if self.learner_state in _IDLE:
            what, cause = f"its learner is {self.learner_state}", self.learner_cause
        else:
            what, cause = f"its source is {self.source_state}", self.source_cause
        return f"{self.stream}: {what}" + (f": {cause}" if cause else "")


class StatusLog:
    """Logs, once each, that a stream does not predict, or which work it drops under overload, with
    the reason, and the end of either. Not thread-safe."""

    def __init__(self) -> None:
        self._said = ""  # Why there are no predictions; empty if there are.
        self._overload = OverloadKind.NONE  # As last logged.

    def tell(self, status: StreamStatus) -> None:
        words = str(status)
        if status.predicts:
            if self._said:
                _LOG.info("%s: predictions come again", status.stream)
            self._said = ""
            self._tell_overload(status)
        elif self._is_broken(status) and words != self._said:
            self._said = words
            _LOG.warning("no predictions of %s", words)

    def _tell_overload(self, status: StreamStatus) -> None:
        as_planned = self._overload is OverloadKind.NONE and not status.gives_up
        if as_planned or status.overload is self._overload:
            return
        self._overload = status.overload
        if status.gives_up:
            _LOG.warning("%s", status)
        else:
            _LOG.info("%s: %s", status.stream, status.overload_cause or "the overload is over")

    @staticmethod
    def _is_broken(status: StreamStatus) -> bool:
        return (status.source_state in _BROKEN
                or status.learner_state in _IDLE)
