"""Errors have a class for each code, and the server's details."""

import datetime
import unittest

import error_messages
import grpc
import millrace
from millrace_testing import fake_server

CLASSES = {
    grpc.StatusCode.INVALID_ARGUMENT: millrace.InvalidArgument,
    grpc.StatusCode.NOT_FOUND: millrace.NotFound,
    grpc.StatusCode.ALREADY_EXISTS: millrace.AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: millrace.FailedPrecondition,
    grpc.StatusCode.ABORTED: millrace.Aborted,
    grpc.StatusCode.OUT_OF_RANGE: millrace.OutOfRange,
    grpc.StatusCode.RESOURCE_EXHAUSTED: millrace.ResourceExhausted,
    grpc.StatusCode.PERMISSION_DENIED: millrace.PermissionDenied,
    grpc.StatusCode.UNAUTHENTICATED: millrace.Unauthenticated,
    grpc.StatusCode.DATA_LOSS: millrace.DataLoss,
    grpc.StatusCode.DEADLINE_EXCEEDED: millrace.DeadlineExceeded,
    grpc.StatusCode.CANCELLED: millrace.Cancelled,
    grpc.StatusCode.UNIMPLEMENTED: millrace.Unimplemented,
    grpc.StatusCode.UNAVAILABLE: millrace.Unavailable,
    grpc.StatusCode.INTERNAL: millrace.MillraceError,
}


class ErrorsTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        self.client = self.enterContext(millrace.Client(self.server.address, token="any"))

    def error(self, code: grpc.StatusCode, details: bytes = b"") -> millrace.MillraceError:
        self.server.refuse("ListStreams", fake_server.Error(code, "the server's words", details))
        with self.assertRaises(millrace.MillraceError) as raised:
            self.client.streams()
        return raised.exception

    def test_each_code_has_its_class(self):
        for code, kind in CLASSES.items():
            with self.subTest(code):
                error = self.error(code)
                self.assertIs(type(error), kind)
                self.assertEqual((error.code, str(error)), (code, "the server's words"))
                self.assertIsInstance(error.__cause__, grpc.RpcError)

    def test_without_details_they_are_empty(self):
        error = self.error(grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual((error.reason, error.metadata, error.field_violations), ("", {}, ()))
        self.assertIsNone(error.retry_delay)

    def test_the_reason_is_for_programs(self):
        info = error_messages.info("STREAM_NOT_FOUND", stream="gate")
        error = self.error(grpc.StatusCode.NOT_FOUND, error_messages.details(info))
        self.assertEqual((error.reason, error.metadata), ("STREAM_NOT_FOUND", {"stream": "gate"}))

    def test_each_wrong_field_is_named(self):
        wrong = error_messages.wrong_fields(name="is empty", source="is missing")
        error = self.error(grpc.StatusCode.INVALID_ARGUMENT,
                           error_messages.details(error_messages.info("INVALID_FIELD"), wrong))
        self.assertEqual(error.reason, "INVALID_FIELD")
        self.assertEqual(error.field_violations,
                         (millrace.FieldViolation("config.name", "is empty"),
                          millrace.FieldViolation("config.source", "is missing")))

    def test_when_to_try_again(self):
        details = error_messages.details(error_messages.retry_in(2))
        error = self.error(grpc.StatusCode.UNAVAILABLE, details)
        self.assertEqual(error.retry_delay, datetime.timedelta(seconds=2))

    def test_details_that_cannot_be_read_hide_nothing(self):
        error = self.error(grpc.StatusCode.NOT_FOUND, b"\xff\xff")
        self.assertEqual((str(error), error.reason), ("the server's words", ""))


class UnreachableTest(unittest.TestCase):
    def test_nobody_listening_is_unavailable(self):
        with fake_server.FakeServer() as server:
            pass
        with millrace.Client(server.address) as client:
            with self.assertRaises(millrace.Unavailable) as raised:
                client.streams()
        self.assertEqual(raised.exception.message, f"{server.address}: nothing listens there; "
                         "does `millrace serve` run there?")


if __name__ == "__main__":
    unittest.main()
