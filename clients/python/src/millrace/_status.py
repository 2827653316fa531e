"""What a stream is doing, as those who wait for its predictions are told."""

import dataclasses
import datetime
import logging
from typing import Self

from millrace._states import LearnerState, OverloadKind, SourceState
from millrace._wire import duration_of
from millrace.v1 import prediction_service_pb2 as messages

_LOG = logging.getLogger("millrace")

# States in which something is wrong, and those that only pass.
_BROKEN = (SourceState.BACKING_OFF, SourceState.FAILED, SourceState.STALLED)

# Overloads that are worth a line: learning from fewer frames is as planned.
_GIVES_UP = (OverloadKind.DROPS, OverloadKind.ONLY_PREDICTS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StreamStatus:
    """What a stream is doing: why no prediction comes, where none does, and what it gives up under
    overload."""

    stream: str
    source_state: SourceState
    # What is wrong with the source, in words. Empty where nothing is.
    source_cause: str
    learner_state: LearnerState
    # Why the learner failed, in words. Empty where it did not.
    learner_cause: str
    # How long ago the stream's newest prediction was made. None before its first.
    prediction_age: datetime.timedelta | None
    # What it gives up because its camera sends more than the model has time for.
    overload: OverloadKind
    # What is given up, and the values of the configuration that end it, in words. Empty: nothing.
    overload_cause: str
    overload_remedy: str

    @classmethod
    def of(cls, message: messages.StreamStatus) -> Self:
        """The same, as the server sent it."""
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
        """Whether it drops frames, or learns from none. Learning from fewer is as planned."""
        return self.overload in _GIVES_UP

    @property
    def predicts(self) -> bool:
        """Whether frames come, and the learner predicts them."""
        return (self.source_state is SourceState.STREAMING
                and self.learner_state in (LearnerState.LEARNING, LearnerState.FROZEN))

    def __str__(self) -> str:
        """"yard: its source is BACKING_OFF: no route leads to its address", for people."""
        if self.predicts and self.gives_up:
            return ": ".join(filter(None, (self.stream, self.overload_cause, self.overload_remedy)))
        if self.learner_state in (LearnerState.FAILED, LearnerState.PAUSED):
            what, cause = f"its learner is {self.learner_state}", self.learner_cause
        else:
            what, cause = f"its source is {self.source_state}", self.source_cause
        return f"{self.stream}: {what}" + (f": {cause}" if cause else "")


class StatusLog:
    """Tells the log, once each, that a stream's predictions stay away, or what it gives up under
    overload, why, and that this is over. Not thread-safe."""

    def __init__(self) -> None:
        self._said = ""  # What keeps predictions away, since something does.
        self._overload = OverloadKind.NONE  # As it was said last.

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
                or status.learner_state in (LearnerState.FAILED, LearnerState.PAUSED))
