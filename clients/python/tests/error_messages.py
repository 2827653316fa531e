"""Details that a server sends beside an error's message."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2


def details(*messages: Message) -> bytes:
    """A google.rpc.Status with the messages, in wire format."""
    status = status_pb2.Status()
    for message in messages:
        status.details.add().Pack(message)
    return status.SerializeToString()


def retry_in(seconds: int) -> error_details_pb2.RetryInfo:
    return error_details_pb2.RetryInfo(retry_delay=Duration(seconds=seconds))


def info(reason: str, **metadata: str) -> error_details_pb2.ErrorInfo:
    return error_details_pb2.ErrorInfo(reason=reason, domain="millrace", metadata=metadata)


def wrong_fields(**violations: str) -> error_details_pb2.BadRequest:
    """Violations of fields, by their names in `config`."""
    return error_details_pb2.BadRequest(field_violations=[
        error_details_pb2.BadRequest.FieldViolation(field=f"config.{field}", description=words)
        for field, words in violations.items()])
