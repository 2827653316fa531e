"""From which frames a model learns."""

import dataclasses
from typing import Self

from millrace._wire import WireEnum
from millrace.v1 import learner_service_pb2 as messages


class UpdatePolicyKind(WireEnum):
    """By what it is decided whether a model learns from a frame."""

    UNSPECIFIED = 0
    # Every n-th frame.
    EVERY = 1
    # Enough of the picture moves.
    MAG = 2
    # The picture changes.
    DIFF = 3
    # The mean motion is another than at the last update.
    DIV = 4


@dataclasses.dataclass(frozen=True)
class UpdatePolicy:
    """From which frames a model learns. What its kind does not use is None.

    In a change, a parameter of the kind that is None is as the server has it by default.
    """

    kind: UpdatePolicyKind = UpdatePolicyKind.EVERY
    # EVERY: n; 1: every frame.
    every: int | None = None
    # MAG: the share of pixels that must move by more than `moving_pixels`, 0 to 1.
    moving_share: float | None = None
    moving_pixels: float | None = None
    # DIFF: the mean difference of a pixel from the picture before, 0 to 1.
    difference: float | None = None
    # DIV: the change of the mean flow, relative to its length at the last update.
    divergence: float | None = None
    # Frames from the change on that are all learned from. Of a policy of the server's configuration:
    # from the stream's first on.
    warm_up: int = 0
    # It learns at the latest from the n-th frame after the last one. 0: never made to.
    force_after: int = 0

    @classmethod
    def of(cls, message: messages.UpdatePolicy) -> Self:
        """The same, as the server sent it."""
        said = {field.name: value for field, value in message.ListFields()}
        return cls(**{**said, "kind": UpdatePolicyKind(message.kind)})

    def message(self) -> messages.UpdatePolicy:
        """The same for the wire. Raises ValueError where the kind is not known."""
        if self.kind is UpdatePolicyKind.UNSPECIFIED:
            raise ValueError("the policy's kind is not specified")
        return messages.UpdatePolicy(**dataclasses.asdict(self))
