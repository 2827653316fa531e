"""A client sends its token, trusts the given certificates, and keeps its time limits."""

import pathlib
import socket
import tempfile
import unittest

import grpc
import millrace
from millrace_testing import certificates, fake_server


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


class AddressTest(unittest.TestCase):
    """gRPC looked up a host "http" in DNS, or connected to port 443."""

    def test_is_a_host_and_a_port(self):
        with self.assertRaisesRegex(ValueError, "leave out http://, and write HOST:PORT"):
            millrace.Client("http://127.0.0.1:28851")
        for address in ("127.0.0.1", "camera-box", "::1", "[::1]", "box:", "box:grpc", ""):
            with self.subTest(address), self.assertRaisesRegex(ValueError, "write HOST:PORT"):
                millrace.Client(address)
        for address in ("127.0.0.1:1", "box:50051", "[::1]:50051", "unix:/run/millrace.sock"):
            with self.subTest(address), millrace.Client(address):
                pass


class TlsTest(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("server", "stranger"):
            (folder / name).mkdir()
            certificates.make_certificate(folder / name, "millrace.test")
        self.certificate, self.key = folder / "server/certificate.pem", folder / "server/key.pem"
        self.stranger = folder / "stranger/certificate.pem"
        self.server = self.serve(grpc.ssl_server_credentials(self.identity()))

    def identity(self) -> list[tuple[bytes, bytes]]:
        return [(self.key.read_bytes(), self.certificate.read_bytes())]

    def serve(self, credentials: grpc.ServerCredentials | None) -> fake_server.FakeServer:
        return self.enterContext(fake_server.FakeServer(credentials=credentials))

    def trust(self, **keys) -> millrace.Tls:
        return millrace.Tls(**{"ca_file": self.certificate, "server_name": "millrace.test"} | keys)

    def streams(self, tls: millrace.Tls | bool,
                server: fake_server.FakeServer | None = None) -> list[millrace.Stream]:
        with millrace.Client((server or self.server).address, tls=tls) as client:
            return client.streams()

    def assert_said(self, words: str, tls: millrace.Tls | bool,
                    server: fake_server.FakeServer | None = None):
        address = (server or self.server).address
        with self.assertRaises(millrace.Unavailable) as raised:
            self.streams(tls, server)
        self.assertTrue(raised.exception.message.startswith(f"{address}: "), raised.exception)
        self.assertIn(words, raised.exception.message)

    def test_trusts_whom_it_is_told_to(self):
        self.assertEqual(len(self.streams(self.trust())), 1)

    def test_trusts_nobody_else_and_says_how_to(self):
        for tls in (True, self.trust(ca_file=self.stranger)):
            with self.subTest(tls):
                self.assert_said("name the certificate of its authority: Tls(ca_file=...)", tls)
        self.assert_said("name one that it is for: Tls(server_name=...)",
                         self.trust(server_name="another.test"))

    def test_plain_text_and_tls_are_told_from_a_server_that_is_away(self):
        self.assert_said("where it speaks TLS, pass tls=True", False)
        self.assert_said("the server does not speak TLS", True, self.serve(None))

    def test_a_certificate_that_the_server_wants_is_named(self):
        server = self.serve(grpc.ssl_server_credentials(
            self.identity(), self.stranger.read_bytes(), require_client_auth=True))
        self.assert_said("Tls(certificate_file=..., key_file=...)", self.trust(), server)

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
