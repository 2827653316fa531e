"""A client shows its token, trusts whom it is told to, and waits no longer than it is told to."""

import pathlib
import socket
import tempfile
import unittest

import certificates
import fake_server
import grpc
import millrace


class TokenTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())

    def authorization(self, call: str) -> str | None:
        return self.server.metadata[call].get("authorization")

    def test_goes_along_with_every_kind_of_call(self):
        with millrace.Client(self.server.address, token="secret") as client:
            client.streams()
            client.predictions().wait_for_server()
        self.assertEqual(self.authorization("ListStreams"), "Bearer secret")
        self.assertEqual(self.authorization("Subscribe"), "Bearer secret")

    def test_may_change(self):
        tokens = iter(["old", "new"])
        with millrace.Client(self.server.address, token=lambda: next(tokens)) as client:
            for token in ("old", "new"):
                client.streams()
                self.assertEqual(self.authorization("ListStreams"), f"Bearer {token}")

    def test_is_absent_without_one(self):
        with millrace.Client(self.server.address) as client:
            client.streams()
        self.assertIsNone(self.authorization("ListStreams"))


class TlsTest(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        certificates.make_certificate(folder, "millrace.test")
        self.certificate = folder / "certificate.pem"
        credentials = grpc.ssl_server_credentials(
            [((folder / "key.pem").read_bytes(), self.certificate.read_bytes())])
        self.server = self.enterContext(fake_server.FakeServer(credentials=credentials))

    def streams(self, tls: millrace.Tls | bool) -> list[millrace.Stream]:
        with millrace.Client(self.server.address, tls=tls) as client:
            return client.streams()

    def test_trusts_whom_it_is_told_to(self):
        tls = millrace.Tls(ca_file=self.certificate, server_name="millrace.test")
        self.assertEqual(len(self.streams(tls)), 1)

    def test_trusts_nobody_else(self):
        for tls in (True, millrace.Tls(ca_file=self.certificate, server_name="another.test")):
            with self.subTest(tls), self.assertRaises(millrace.Unavailable):
                self.streams(tls)

    def test_a_missing_file_is_said_at_once(self):
        with self.assertRaises(FileNotFoundError):
            self.streams(millrace.Tls(ca_file="absent.pem"))


class SilentServerTest(unittest.TestCase):
    def test_is_not_waited_for_without_end(self):
        silent = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with millrace.Client(address, timeout=0.05) as client:
            with self.assertRaises(millrace.DeadlineExceeded):
                client.streams()


if __name__ == "__main__":
    unittest.main()
