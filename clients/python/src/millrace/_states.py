"""States of sources and learners, and kinds of overload."""

from millrace._wire import WireEnum


class SourceState(WireEnum):
    """The state of a source."""

    UNSPECIFIED = 0
    CONNECTING = 1
    STREAMING = 2
    # The camera went away; the source waits before the next attempt.
    BACKING_OFF = 3
    ENDED = 4
    # The source failed, and a retry cannot help.
    FAILED = 5
    STOPPED = 6
    # No frames come, but no error has occurred yet.
    STALLED = 7
    # For pushed frames: no client pushes any.
    WAITING = 8


class LearnerState(WireEnum):
    """The state of a learner."""

    UNSPECIFIED = 0
    LEARNING = 1
    FAILED = 2
    ENDED = 3
    # Predicting but not learning, by request.
    FROZEN = 4
    # Neither, by request: its frames are dropped.
    PAUSED = 5
    # Predicting but not learning: its weights diverged too often in a row.
    GIVEN_UP = 6
    # Neither, until all processes on other hosts have joined: its frames are dropped.
    WAITING_FOR_RANKS = 7


class OverloadKind(WireEnum):
    """The work that a stream drops because its camera sends more than the model has time for."""

    UNSPECIFIED = 0
    NONE = 1
    # Every frame is predicted, but only one in several is learned from.
    LEARNS_LESS = 2
    # Every frame is predicted, but no frame is learned from.
    ONLY_PREDICTS = 3
    # Frames are dropped.
    DROPS = 4
