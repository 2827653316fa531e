"""The learner of a camera stream, and what can be done to it while it runs."""

import dataclasses
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask

from millrace.connection import Connection
from millrace.v1 import learner_service_pb2 as messages
from millrace.streams import LearnerState


@dataclasses.dataclass(frozen=True)
class LearnerStatus:
    """A learner at one moment."""

    stream: str
    state: LearnerState
    # The step size of its optimizer.
    learning_rate: float
    # It learns from every so many frames at most; 0: from none.
    update_every: int
    # Updates that its stages have made, nearest the camera first.
    updates: tuple[int, ...]


class Learner:
    """The learner of one camera stream. Each call asks the server, and returns the learner as it
    is then. Raises NotFound if there is no such stream, and FailedPrecondition where the learner
    has failed or its stream has ended."""

    def __init__(self, connection: Connection, stream: str):
        self._connection = connection
        self._stream = stream

    def status(self) -> LearnerStatus:
        """Changes nothing."""
        return self._ask("Get")

    def pause(self) -> LearnerStatus:
        """Neither predicts nor learns until resume(); what it has learned stays. Idempotent."""
        return self._ask("Pause")

    def freeze(self) -> LearnerStatus:
        """Predicts on, but learns nothing until resume(). Idempotent."""
        return self._ask("Freeze")

    def resume(self) -> LearnerStatus:
        """Predicts and learns again. Idempotent."""
        return self._ask("Resume")

    def reset(self) -> LearnerStatus:
        """Forgets what it has learned. Subscriptions begin anew by themselves."""
        return self._ask("Reset")

    def update(self, *, learning_rate: float | None = None,
               update_every: int | None = None) -> LearnerStatus:
        """Changes what is given, from the next frame on. Raises InvalidArgument, and changes
        nothing, where one is wrong; ValueError if nothing is given."""
        wished = {"learning_rate": learning_rate, "update_every": update_every}
        given = [name for name, value in wished.items() if value is not None]
        if not given:
            raise ValueError("nothing is given to be changed")
        learner = messages.Learner(stream=self._stream, learning_rate=learning_rate,
                                   update_every=update_every)
        return self._ask("Update", learner=learner, update_mask=FieldMask(paths=given))

    def _ask(self, what: str, **fields: Any) -> LearnerStatus:
        request = getattr(messages, f"{what}LearnerRequest")(**(fields or {"stream": self._stream}))
        method = getattr(self._connection.learners, f"{what}Learner")
        learner = self._connection.ask(method, request).learner
        return LearnerStatus(learner.stream, LearnerState(learner.state), learner.learning_rate,
                             learner.update_every, tuple(learner.updates))
