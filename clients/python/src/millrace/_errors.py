"""What can go wrong with a call, as exceptions of this package's own.

There is one class for each code that a server answers with, so that `except millrace.NotFound` says
what it means. What the server tells beside the words (google.rpc.ErrorInfo, BadRequest, RetryInfo)
is in the attributes; a server that tells nothing leaves them empty.
"""

import datetime
from collections.abc import Mapping
from typing import Any

import grpc

from millrace._error_details import Details, FieldViolation, details_of
from millrace._no_connection import in_words


class MillraceError(Exception):
    """A call failed. Also raised itself, for codes that have no class of their own.

    `code` is gRPC's, `message` the server's words, or why there is no connection to one. `reason` is for programs, as `STREAM_NOT_FOUND`,
    and `metadata` what the words name. `retry_delay`: trying again sooner is in vain.
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
    """A field of the request is wrong; `field_violations` names each, where the server does."""

    @property
    def field_violations(self) -> tuple[FieldViolation, ...]:
        return self.details.field_violations


class NotFound(MillraceError):
    """There is no such stream, checkpoint or file; the message names those that there are."""


class AlreadyExists(MillraceError):
    """There is a stream of that name."""


class FailedPrecondition(MillraceError):
    """As things are it cannot be done, such as labels for a stream that takes none."""


class Aborted(MillraceError):
    """The stream was changed meanwhile: its etag is another one. Read it again."""


class OutOfRange(MillraceError):
    """A place in a stream's life that is over."""


class ResourceExhausted(MillraceError):
    """The server has no room for more, or the client read too slowly for what it asked for."""


class PermissionDenied(MillraceError):
    """The server does not let this client do that."""


class Unauthenticated(MillraceError):
    """The server does not know who asks: no token, or a wrong one."""


class DataLoss(MillraceError):
    """A file that the server needs is damaged."""


class DeadlineExceeded(MillraceError):
    """The server did not answer within the timeout."""


class Cancelled(MillraceError):
    """The call was ended from elsewhere."""


class Unimplemented(MillraceError):
    """The server is older than this client and does not know the call."""


class Unavailable(MillraceError):
    """The server cannot be reached, or cannot answer now: trying again can help."""


class ConnectionLost(Unavailable):
    """A subscription tried to connect again for as long as it may, in vain. Its cause is the last
    try's error."""


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
    """The same error as one of this package's; the caller raises it from `error`. `token_advice`:
    what to say where the server does not know who asks."""
    call: Any = error  # What gRPC raises is the call, too.
    code = call.code()
    kind = _KINDS.get(code, MillraceError)
    said = in_words(call.details() or code.name)
    if token_advice and kind is Unauthenticated:
        said = f"{said}; {token_advice}"
    return kind(said, code=code,
                details=details_of(call.trailing_metadata() or ()))
