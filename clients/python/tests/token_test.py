"""A token is checked before gRPC sees it, and no error message repeats a wrong one."""

import os
import pathlib
import tempfile
import traceback
import unittest
import unittest.mock

import grpc
import millrace
from millrace_testing import fake_server

SECRET = "b2F1c3RpbmctdGhhdC1ub2JvZHktZ3Vlc3Nlcw=="

# A file's content, and the expected error.
BAD = {
    "is empty": [b"", b" \r\n\n"],
    "is a server's list of tokens": [
        f"view {SECRET}\ncontrol other-0123456789abcdef\n".encode(),
        f"# who may look\r\nview\t{SECRET}\r\n".encode(),
        f"# made today\rcontrol   {SECRET}".encode()],
    "is a file in PEM": [f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n".encode()],
    "has several lines": [f"{SECRET}\n{SECRET}".encode(), f"{SECRET}\r\n{SECRET}".encode()],
    "holds more than a token": [SECRET.encode() * 200],
    "holds characters that no token has": [
        f"Bearer {SECRET}".encode(), f'"{SECRET}"'.encode(), b"\xef\xbb\xbf" + SECRET.encode(),
        SECRET.encode("utf-16"), b"\0" + SECRET.encode(), f"{SECRET}ä".encode(),
        f'{{"token": "{SECRET}"}}'.encode(), f"{SECRET}\x1b[2J".encode()],
    "is too long": [SECRET.encode() * 50_000],
}


class TokenFileTest(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = folder / "token.txt"
        self.server = self.enterContext(fake_server.FakeServer())

    def client(self, **options) -> millrace.Client:
        return self.enterContext(millrace.Client(self.server.address, **options))

    def refusal(self, **options) -> str:
        """The client's error; checks that the whole traceback does not contain the secret."""
        with self.assertRaises((ValueError, OSError)) as refused:
            self.client(**options)
        said = "".join(traceback.format_exception(refused.exception))
        self.assertNotIn(SECRET[:8], said)
        return str(refused.exception)

    def test_its_token_goes_along_and_is_read_for_each_call(self):
        self.path.write_text(f"{SECRET}\r\n")
        client = self.client(token_file=self.path)
        for token in (SECRET, "another-0123456789"):
            self.path.write_text(token)
            client.streams()
            self.assertEqual(self.server.metadata["ListStreams"]["authorization"],
                             f"Bearer {token}")

    def test_any_other_is_refused_in_words_that_do_not_repeat_it(self):
        for words, texts in BAD.items():
            for text in texts:
                with self.subTest(words, text=text[:50]):
                    self.path.write_bytes(text)
                    self.assertIn(f"{self.path} {words}", self.refusal(token_file=self.path))

    def test_what_is_no_file_is_not_waited_for(self):
        os.mkfifo(self.path)
        for path in (self.path, self.path.parent, pathlib.Path("/dev/zero")):
            with self.subTest(path):
                self.assertEqual(self.refusal(token_file=path), f"{path} is no file")
        missing = self.path.parent / "none"
        with self.assertRaisesRegex(FileNotFoundError, f"token_file: .*{missing}"):
            self.client(token_file=missing)

    def test_what_has_become_no_file_before_it_is_opened_is_not_waited_for(self):
        os.mkfifo(self.path)
        was_file = unittest.mock.patch.object(pathlib.Path, "stat", return_value=os.stat(__file__))
        for path in (self.path, self.path.parent, pathlib.Path("/dev/zero")):
            with self.subTest(path), was_file:
                self.assertEqual(self.refusal(token_file=path), f"{path} is no file")

    def test_a_token_is_checked_as_well_and_at_each_call_where_it_may_change(self):
        for token in (f"view {SECRET}", f"{SECRET}\n", f"{SECRET}ä", SECRET.encode(), "a" * 5000):
            with self.subTest(token):
                self.assertIn("the token", self.refusal(token=token))
                client = self.client(token=lambda token=token: token)
                with self.assertRaisesRegex(ValueError, "the token") as refused:
                    client.streams()
                self.assertNotIn(SECRET[:8], "".join(traceback.format_exception(refused.exception)))

    def test_a_server_that_refuses_it_names_the_argument_and_the_file(self):
        self.path.write_text(SECRET)
        wants = fake_server.Error(grpc.StatusCode.UNAUTHENTICATED, "this server wants a token")
        of_file = f"this server wants a token; it is that of token_file {self.path}"
        for options, words in (({}, r"wants a token; .*Client\(token_file=\.\.\.\)"),
                               ({"token_file": self.path}, f"^{of_file}$"),
                               ({"token": SECRET}, "^this server wants a token$")):
            client = self.client(**options)
            calls = {"ListStreams": client.streams, "Subscribe": lambda: next(client.predictions()),
                     "WatchStreams": lambda: next(client.watch()),
                     "Push": lambda: next(client.push("", iter(())))}
            for name, call in calls.items():
                with self.subTest(name, options=options):
                    self.server.refuse(name, wants)
                    with self.assertRaisesRegex(millrace.Unauthenticated, words):
                        call()

    def test_one_of_the_two_is_given(self):
        self.path.write_text(SECRET)
        self.assertIn("leave one of them out", self.refusal(token=SECRET, token_file=self.path))


if __name__ == "__main__":
    unittest.main()
