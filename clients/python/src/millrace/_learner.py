"""The learner of a camera stream, and calls that control it."""

import dataclasses
from typing import Any, Self

from google.protobuf.field_mask_pb2 import FieldMask

from millrace._connection import CHANGE_TIMEOUT_S, Connection
from millrace._states import LearnerState
from millrace._update_policy import UpdatePolicy
from millrace.v1 import learner_service_pb2 as messages


@dataclasses.dataclass(frozen=True, kw_only=True)
class LearnerStatus:
    """A snapshot of a learner's state."""

    stream: str
    state: LearnerState
    # Why it failed, in words; else empty.
    cause: str
    # The step size of updates, 0 to 1, and its effective share: less after a roll-back.
    learning_rate: float
    learning_rate_share: float
    # None if it learns from labels, which select the frames.
    policy: UpdatePolicy | None
    # Updates of each stage, nearest the camera first.
    updates: tuple[int, ...]
    # The number of roll-backs: older weights replaced weights that had diverged.
    roll_backs: int

    @classmethod
    def of(cls, message: messages.Learner) -> Self:
        """Converts the server's message."""
        policy = UpdatePolicy.of(message.policy) if message.HasField("policy") else None
        return cls(stream=message.stream, state=LearnerState(message.state), cause=message.cause,
                   learning_rate=message.learning_rate,
                   learning_rate_share=message.learning_rate_share, policy=policy,
                   updates=tuple(message.updates), roll_backs=message.roll_backs)


class Learner:
    """The learner of one camera stream. Each call asks the server, and returns the learner's new
    state. Raises NotFound if there is no such stream. Calls that change it raise FailedPrecondition
    if the learner has failed or its stream has ended. Of these, only reset() still works then."""

    def __init__(self, connection: Connection, stream: str):
        self._connection = connection
        self._stream = stream

    def status(self) -> LearnerStatus:
        """The current state."""
        return self._ask("Get")

    def pause(self) -> LearnerStatus:
        """Stops predicting and learning until resume(); the learned weights stay. Idempotent."""
        return self._ask("Pause")

    def freeze(self) -> LearnerStatus:
        """Goes on predicting, but learns nothing until resume(). Idempotent."""
        return self._ask("Freeze")

    def resume(self) -> LearnerStatus:
        """Resumes predicting and learning. Idempotent."""
        return self._ask("Resume")

    def reset(self, *, timeout: float = CHANGE_TIMEOUT_S) -> LearnerStatus:
        """Discards the learned weights, even if the learner has failed or its stream has ended.
        Subscriptions restart by themselves."""
        return self._ask("Reset", timeout)

    def update(self, *, learning_rate: float | None = None,
               policy: UpdatePolicy | None = None) -> LearnerStatus:
        """Changes the given values from the next frame on. Raises InvalidArgument if a value is
        wrong. Raises FailedPrecondition for a policy if labels select the frames, and for a rate if
        the configuration has 0. A failed call changes nothing. Raises ValueError if no value is
        given."""
        wished = {"learning_rate": learning_rate, "policy": policy and policy.message()}
        given: dict[str, Any] = {name: value for name, value in wished.items() if value is not None}
        if not given:
            raise ValueError("nothing is given to be changed")
        return self._ask("Update", learner=messages.Learner(stream=self._stream, **given),
                         update_mask=FieldMask(paths=list(given)))

    def _ask(self, what: str, timeout: float | None = None, **fields: Any) -> LearnerStatus:
        request = getattr(messages, f"{what}LearnerRequest")(**(fields or {"stream": self._stream}))
        method = getattr(self._connection.learners, f"{what}Learner")
        return LearnerStatus.of(self._connection.ask(method, request, timeout).learner)
