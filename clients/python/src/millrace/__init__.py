"""Predictions of a Millrace server, which learns online from live video.

    with millrace.Client("127.0.0.1:50051") as client:
        for prediction in client.predictions("door"):
            print(prediction.frame_number, prediction.flow.mean(axis=(0, 1)))

Begin with Client. What the server sends is wrapped in small types of this package; predictions and
streams keep the message that they were made from (`millrace.v1`) as `message`.
"""

from millrace.backoff import Clock, Reconnect
from millrace.checkpoints import Checkpoint, Checkpoints
from millrace.client import Client
from millrace.connection import Tls
from millrace.error_details import FieldViolation
from millrace.errors import (Aborted, AlreadyExists, Cancelled, ConnectionLost, DataLoss,
                             DeadlineExceeded, FailedPrecondition, InvalidArgument, MillraceError,
                             NotFound, OutOfRange, PermissionDenied, ResourceExhausted,
                             Unauthenticated, Unavailable, Unimplemented)
from millrace.events import EventKind, StreamEvent
from millrace.labels import Label, LabelOutcome, LabelResult
from millrace.learner import Learner, LearnerStatus
from millrace.pictures import Picture
from millrace.prediction import Flag, Prediction, Size
from millrace.prediction_source import Parts, Policy
from millrace.pushing import Frame, FrameOutcome, Pushing
from millrace.streams import (DropReason, FrameCounts, LabelKind, LabelledTask, LearnerState,
                              OverloadKind, SourceState, Stream)
from millrace.subscription import Subscription
from millrace.update_policy import UpdatePolicy, UpdatePolicyKind

__all__ = [
    "Aborted", "AlreadyExists", "Cancelled", "Checkpoint", "Checkpoints", "Client", "Clock",
    "ConnectionLost", "DataLoss", "DeadlineExceeded", "DropReason", "EventKind",
    "FailedPrecondition", "FieldViolation", "Flag", "Frame", "FrameCounts", "FrameOutcome",
    "InvalidArgument", "Label", "LabelKind", "LabelOutcome", "LabelResult", "LabelledTask",
    "Learner", "LearnerState", "LearnerStatus", "MillraceError", "NotFound", "OutOfRange",
    "OverloadKind", "Parts", "PermissionDenied", "Picture", "Policy", "Prediction", "Pushing", "Reconnect",
    "ResourceExhausted", "Size", "SourceState", "Stream", "StreamEvent", "Subscription", "Tls",
    "Unauthenticated", "Unavailable", "Unimplemented", "UpdatePolicy", "UpdatePolicyKind",
]
