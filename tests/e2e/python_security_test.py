"""The Python client calls a server with TLS and tokens."""

import pathlib
import tempfile
import unittest

import millrace
from millrace_testing import certificates, millrace_process

VIEW, CONTROL = "only-for-looking-at-it", "for-changing-it-too"


class SecurityTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        certificates.make_certificate(folder, "millrace.test")
        tokens = folder / "tokens.txt"
        tokens.touch(mode=0o600)
        tokens.write_text(f"view {VIEW}\ncontrol {CONTROL}\n")
        configuration = millrace_process.config()
        configuration["listen"] |= {
            "tls": {"certificate": f"{folder}/certificate.pem", "key": f"{folder}/key.pem"},
            "tokens_file": str(tokens)}
        cls.server = cls.enterClassContext(millrace_process.serve(configuration))
        cls.tls = millrace.Tls(ca_file=folder / "certificate.pem", server_name="millrace.test")

    def client(self, token: str | None, tls: millrace.Tls | bool | None = None) -> millrace.Client:
        trust = self.tls if tls is None else tls
        return self.enterContext(millrace.Client(self.server.grpc, token=token, tls=trust))

    def test_who_may_view_sees_everything(self):
        client = self.client(VIEW)
        self.assertEqual(next(client.predictions()).stream, "test")
        self.assertEqual(next(client.watch()).stream, "test")
        self.assertEqual(client.learner().status().stream, "test")

    def test_who_may_view_changes_nothing(self):
        client = self.client(VIEW)
        stream = client.stream()
        calls = {"add_labels": lambda: client.add_labels("test", {1: 0}),
                 "create_stream": lambda: client.create_stream(stream.config),
                 "update_stream": lambda: client.update_stream("test", stream.config),
                 "delete_stream": lambda: client.delete_stream("test"),
                 "pause": client.learner().pause, "resume": client.learner().resume,
                 "freeze": client.learner().freeze, "reset": client.learner().reset,
                 "update": lambda: client.learner().update(learning_rate=0),
                 "create": client.checkpoints().create,
                 "restore": lambda: client.checkpoints().restore("checkpoint-1"),
                 "delete": lambda: client.checkpoints().delete("checkpoint-1"),
                 "download": lambda: client.checkpoints().download("checkpoint-1", self.folder)}
        for name, call in calls.items():
            with self.subTest(name), self.assertRaisesRegex(millrace.PermissionDenied, "control"):
                call()
        self.assertEqual(client.stream().etag, stream.etag)

    def test_who_may_control_does(self):
        learner = self.client(CONTROL).learner()
        self.assertEqual(learner.freeze().state, millrace.LearnerState.FROZEN)
        self.assertEqual(learner.resume().state, millrace.LearnerState.LEARNING)

    def test_who_shows_no_token_or_another_sees_nothing(self):
        for token in (None, 2 * VIEW):
            with self.subTest(token), self.assertRaises(millrace.Unauthenticated):
                self.client(token).streams()
            with self.subTest(token), self.assertRaises(millrace.Unauthenticated):
                next(self.client(token).predictions())

    def test_millrace_watch_shows_its_token_by_tls(self):
        token = self.folder / "token.txt"
        token.touch(mode=0o600)
        token.write_text(VIEW + "\n")
        watch = ("watch", self.server.grpc, "--count", "2", "--server-name", "millrace.test")
        shown = millrace_process.run(*watch, "--ca", str(self.folder / "certificate.pem"),
                                     "--token-file", str(token))
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual(len(shown.stdout.splitlines()), 2)
        without = millrace_process.run(*watch, "--ca", str(self.folder / "certificate.pem"))
        self.assertEqual(without.returncode, 1)
        self.assertIn("name the file that holds one with --token-file FILE", without.stderr)
        token.write_text(2 * VIEW + "\n")
        wrong = millrace_process.run(*watch, "--ca", str(self.folder / "certificate.pem"),
                                     "--token-file", str(token))
        self.assertIn(f"it is that of --token-file {token}", wrong.stderr)

    def test_who_does_not_trust_it_or_speaks_plain_text_gets_no_answer(self):
        for tls in (True, False):
            with self.subTest(tls), self.assertRaises(millrace.Unavailable):
                self.client(VIEW, tls).streams()
        # gRPC says it on a thread of its own.
        log = millrace_process.wait_for("a line about TLS", lambda: [
            line for line in self.server.output if "a client was refused" in line])
        self.assertRegex("".join(log), "warning TLS: a client was refused: it does not speak TLS\n")
        self.assertNotIn("ssl_transport_security", "".join(self.server.output))


if __name__ == "__main__":
    unittest.main()
