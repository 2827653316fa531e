"""The errors of a call, as this package's own exceptions.

There is one class for each gRPC code, so that `except millrace.NotFound` is self-explanatory.
Details beside the message (google.rpc.ErrorInfo, BadRequest, RetryInfo) are in the attributes; they
are empty if the server sends none.
"""

import datetime
from collections.abc import Mapping
from typing import Any

import grpc

from millrace._error_details import Details, FieldViolation, details_of
from millrace._no_connection import in_words


class MillraceError(Exception):
    """A call failed. Also raised itself, for codes without a class of their own.

    `code` is gRPC's code. `message` is the server's text, or the reason why there is no connection.
    `reason` is for programs, such as `STREAM_NOT_FOUND`; `metadata` has the names and values in the
    message. `retry_delay`: an earlier retry will fail.
    """

    def __init__(self, message: str, *, code: grpc.StatusCode, details: Details = Details()):
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = details

    @property
    def reason(self) -> str:
        return self.details.reason

    @property
    def metadata(self) -> Mapping[str, str]:
        return self.details.metadata

    @property
    def retry_delay(self) -> datetime.timedelta | None:
        return self.details.retry_delay


class InvalidArgument(MillraceError):
    """A field of the request is wrong; `field_violations` names each, if the server sends them."""

    @property
    def field_violations(self) -> tuple[FieldViolation, ...]:
        return self.details.field_violations


class NotFound(MillraceError):
    """There is no such stream, checkpoint or file; the message names the existing ones."""


class AlreadyExists(MillraceError):
    """A stream of that name exists already."""


class FailedPrecondition(MillraceError):
    """The current state forbids the call, such as labels for a stream that takes none."""


class Aborted(MillraceError):
    """The stream was changed meanwhile: its etag differs. Read the stream again."""


class OutOfRange(MillraceError):
    """A position in a run of the stream that no longer exists."""


class ResourceExhausted(MillraceError):
    """The server has no capacity for more, or the client read its answers too slowly."""


class PermissionDenied(MillraceError):
    """This client may not make this call."""


class Unauthenticated(MillraceError):
    """The token is missing or wrong."""


class DataLoss(MillraceError):
    """A file that the server needs is damaged."""


class DeadlineExceeded(MillraceError):
    """The server did not answer within the timeout."""


class Cancelled(MillraceError):
    """The call was cancelled."""


class Unimplemented(MillraceError):
    """The server is older than this client and lacks the call."""


class Unavailable(MillraceError):
    """The server cannot be reached, or cannot answer now: a retry may help."""


class ConnectionLost(Unavailable):
    """A subscription could not reconnect within its time limit. Its cause is the last attempt's
    error."""


_KINDS: dict[grpc.StatusCode, type[MillraceError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
    grpc.StatusCode.ABORTED: Aborted,
    grpc.StatusCode.OUT_OF_RANGE: OutOfRange,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.DATA_LOSS: DataLoss,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.UNIMPLEMENTED: Unimplemented,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
}


def from_rpc_error(error: grpc.RpcError, token_advice: str = "") -> MillraceError:
    """Converts a gRPC error to this package's type; the caller raises it from `error`.
    `token_advice`: added to the message of an authentication error."""
    call: Any = error  # gRPC raises the call itself.
    code = call.code()
    kind = _KINDS.get(code, MillraceError)
    said = in_words(call.details() or code.name)
    if token_advice and kind is Unauthenticated:
        said = f"{said}; {token_advice}"
    return kind(said, code=code,
                details=details_of(call.trailing_metadata() or ()))
