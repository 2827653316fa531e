"""Selects the frames that a model learns from."""

import dataclasses
from typing import Self

from millrace._wire import WireEnum
from millrace.v1 import learner_service_pb2 as messages


class UpdatePolicyKind(WireEnum):
    """The criterion by which a policy selects frames."""

    UNSPECIFIED = 0
    # Every n-th frame.
    EVERY = 1
    # Enough of the picture moves.
    MAG = 2
    # The picture changes.
    DIFF = 3
    # The mean motion differs from the mean motion at the last update.
    DIV = 4


@dataclasses.dataclass(frozen=True)
class UpdatePolicy:
    """Selects the frames that a model learns from. Parameters that its kind does not use are None.

    In a change, a parameter of the kind that is None gets the server's default.
    """

    kind: UpdatePolicyKind = UpdatePolicyKind.EVERY
    # EVERY: n; 1: every frame.
    every: int | None = None
    # MAG: the share of pixels that must move by more than `moving_pixels`, 0 to 1.
    moving_share: float | None = None
    moving_pixels: float | None = None
    # DIFF: the mean difference of a pixel from the previous picture, 0 to 1.
    difference: float | None = None
    # DIV: the change of the mean flow, relative to its length at the last update.
    divergence: float | None = None
    # The number of first frames that are all learned from: after the change, or, for a policy of
    # the server's configuration, of the stream.
    warm_up: int = 0
    # It learns at the latest from the n-th frame after the last one. 0: no limit.
    force_after: int = 0

    @classmethod
    def of(cls, message: messages.UpdatePolicy) -> Self:
        """Converts the server's message."""
        said = {field.name: value for field, value in message.ListFields()}
        return cls(**{**said, "kind": UpdatePolicyKind(message.kind)})

    def message(self) -> messages.UpdatePolicy:
        """The policy as a message. Raises ValueError if the kind is unknown."""
        if self.kind is UpdatePolicyKind.UNSPECIFIED:
            raise ValueError("the policy's kind is not specified")
        return messages.UpdatePolicy(**dataclasses.asdict(self))
