"""The learner of a camera stream, and what can be done to it while it runs."""

import dataclasses
from typing import Any, Self

from google.protobuf.field_mask_pb2 import FieldMask

from millrace._connection import CHANGE_TIMEOUT_S, Connection
from millrace._states import LearnerState
from millrace._update_policy import UpdatePolicy
from millrace.v1 import learner_service_pb2 as messages


@dataclasses.dataclass(frozen=True, kw_only=True)
class LearnerStatus:
    """A learner at one moment."""

    stream: str
    state: LearnerState
    # Why it failed, in words. Empty where it did not.
    cause: str
    # How far each update goes, 0 to 1, and the share of it in force: less after a roll-back.
    learning_rate: float
    learning_rate_share: float
    # None where it learns from labels, which decide that.
    policy: UpdatePolicy | None
    # Updates that its stages have made, nearest the camera first.
    updates: tuple[int, ...]
    # Times that the weights had gone wrong and gave way to older ones.
    roll_backs: int

    @classmethod
    def of(cls, message: messages.Learner) -> Self:
        """The same, as the server sent it."""
        policy = UpdatePolicy.of(message.policy) if message.HasField("policy") else None
        return cls(stream=message.stream, state=LearnerState(message.state), cause=message.cause,
                   learning_rate=message.learning_rate,
                   learning_rate_share=message.learning_rate_share, policy=policy,
                   updates=tuple(message.updates), roll_backs=message.roll_backs)


class Learner:
    """The learner of one camera stream. Each call asks the server, and returns the learner as it
    is then. Raises NotFound if there is no such stream. What changes something raises
    FailedPrecondition where the learner has failed or its stream has ended, all but reset(), which
    is the way back."""

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

    def reset(self, *, timeout: float = CHANGE_TIMEOUT_S) -> LearnerStatus:
        """Forgets what it has learned, also where it has failed or its stream has ended.
        Subscriptions begin anew by themselves."""
        return self._ask("Reset", timeout)

    def update(self, *, learning_rate: float | None = None,
               policy: UpdatePolicy | None = None) -> LearnerStatus:
        """Changes what is given, from the next frame on. Raises InvalidArgument where one is wrong,
        and FailedPrecondition for a policy where labels decide or a rate where 0 is configured;
        nothing is changed then. ValueError if nothing is given."""
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
