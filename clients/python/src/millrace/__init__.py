"""Predictions of a Millrace server, which learns online from live video.

    with millrace.Client("127.0.0.1:50051") as client:
        for prediction in client.predictions("door"):
            print(prediction.frame_number, prediction.flow.mean(axis=(0, 1)))

Begin with Client. Small types of this package wrap the server's messages; predictions and streams
keep the original message (`millrace.v1`) as `message`.
"""

from millrace._backoff import Clock, Reconnect
from millrace._checkpoints import Checkpoint, Checkpoints
from millrace._client import Client
from millrace._error_details import FieldViolation
from millrace._errors import (Aborted, AlreadyExists, Cancelled, ConnectionLost, DataLoss,
                             DeadlineExceeded, FailedPrecondition, InvalidArgument, MillraceError,
                             NotFound, OutOfRange, PermissionDenied, ResourceExhausted,
                             Unauthenticated, Unavailable, Unimplemented)
from millrace._events import EventKind, StreamEvent
from millrace._labels import Label, LabelOutcome, LabelResult
from millrace._learner import Learner, LearnerStatus
from millrace._pictures import Picture
from millrace._prediction import Flag, GridView, Prediction
from millrace._prediction_source import Parts, Policy
from millrace._pushing import Frame, FrameOutcome, Pushing
from millrace._size import Size
from millrace._states import LearnerState, OverloadKind, SourceState
from millrace._status import StreamStatus
from millrace._streams import DropReason, FrameCounts, LabelKind, LabelledTask, Promise, Stream
from millrace._subscription import Subscription
from millrace._tls import Tls
from millrace._update_policy import UpdatePolicy, UpdatePolicyKind
from millrace._version import __version__

__all__ = [
    "Aborted", "AlreadyExists", "Cancelled", "Checkpoint", "Checkpoints", "Client", "Clock",
    "ConnectionLost", "DataLoss", "DeadlineExceeded", "DropReason", "EventKind",
    "FailedPrecondition", "FieldViolation", "Flag", "Frame", "FrameCounts", "FrameOutcome",
    "GridView", "InvalidArgument", "Label", "LabelKind", "LabelOutcome", "LabelResult",
    "LabelledTask", "Learner", "LearnerState", "LearnerStatus", "MillraceError", "NotFound",
    "OutOfRange", "OverloadKind", "Parts", "PermissionDenied", "Picture", "Policy", "Prediction",
    "Promise", "Pushing", "Reconnect", "ResourceExhausted", "Size", "SourceState", "Stream",
    "StreamEvent", "StreamStatus", "Subscription", "Tls", "Unauthenticated", "Unavailable",
    "Unimplemented", "UpdatePolicy", "UpdatePolicyKind", "__version__",
]

# Shows the public names in tracebacks and in help().
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
