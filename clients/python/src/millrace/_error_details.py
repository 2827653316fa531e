"""The details of an error beside its code and message: google.rpc's messages in the trailers."""

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

_KEY = "grpc-status-details-bin"

Trailers = Iterable[tuple[str, Any]]


@dataclasses.dataclass(frozen=True)
class FieldViolation:
    """One field of a request, such as `config.source.uri`, and its error."""

    field: str
    description: str


@dataclasses.dataclass(frozen=True)
class Details:
    """The details of an error beside its code and message."""

    reason: str = ""
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)
    field_violations: tuple[FieldViolation, ...] = ()
    retry_delay: datetime.timedelta | None = None


def details_of(trailers: Trailers) -> Details:
    """The details in a call's trailers; empty if the server sends none."""
    details = Details()
    for message in _messages_in(trailers):
        if isinstance(message, error_details_pb2.ErrorInfo):
            details = dataclasses.replace(details, reason=message.reason,
                                          metadata=dict(message.metadata))
        elif isinstance(message, error_details_pb2.BadRequest):
            violations = tuple(FieldViolation(each.field, each.description)
                               for each in message.field_violations)
            details = dataclasses.replace(details, field_violations=violations)
        elif isinstance(message, error_details_pb2.RetryInfo):
            delay = message.retry_delay.ToTimedelta()
            details = dataclasses.replace(details, retry_delay=delay)
    return details


def _messages_in(trailers: Trailers) -> Iterator[Message]:
    """The messages that this package understands. Others are skipped: the error's text is
    enough."""
    for key, value in trailers:
        if key != _KEY:
            continue
        try:
            status = status_pb2.Status.FromString(value)
            for packed in status.details:
                for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest,
                             error_details_pb2.RetryInfo):
                    message = kind()
                    if packed.Unpack(message):
                        yield message
        except DecodeError:
            return
