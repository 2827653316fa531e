"""What sources and learners are doing, and what streams give up."""

from millrace._wire import WireEnum


class SourceState(WireEnum):
    """What a source is doing."""

    UNSPECIFIED = 0
    CONNECTING = 1
    STREAMING = 2
    # The camera went away; waiting before the next try.
    BACKING_OFF = 3
    ENDED = 4
    # It failed and no retry can help.
    FAILED = 5
    STOPPED = 6
    # Frames stay away, though nothing has failed yet.
    STALLED = 7
    # Of pushed frames: no client pushes any.
    WAITING = 8


class LearnerState(WireEnum):
    """What a learner is doing."""

    UNSPECIFIED = 0
    LEARNING = 1
    FAILED = 2
    ENDED = 3
    # It predicts only, as it was told.
    FROZEN = 4
    # It does neither, as it was told: its frames are dropped.
    PAUSED = 5
    # It predicts only: its weights went wrong too often in a row.
    GIVEN_UP = 6


class OverloadKind(WireEnum):
    """What a stream gives up because its camera sends more than the model has time for."""

    UNSPECIFIED = 0
    NONE = 1
    # Every frame is predicted, and one in several is learned from.
    LEARNS_LESS = 2
    # Every frame is predicted, and none is learned from.
    ONLY_PREDICTS = 3
    # Frames are dropped.
    DROPS = 4
