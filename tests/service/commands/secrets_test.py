"""No secret leaves a client or the server, and neither crashes or hangs, for any content of a file that a user names as a
token, a password, a certificate, a key or a configuration."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterable

import grpc

import bad_files
from millrace_testing import millrace_process

# Far beyond what a start takes: reached only where something is waited for in vain.
PATIENCE_S = 60


class RefuseAll(grpc.GenericRpcHandler):
    """A server that no token suffices for."""

    def service(self, handler_call_details):
        def refuse(_, context):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "this call needs a token")

        return grpc.unary_unary_rpc_method_handler(refuse)


def ended(*command: str) -> tuple[int, bytes]:
    """The exit code, and all that was printed."""
    run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         timeout=PATIENCE_S, check=False)
    return run.returncode, run.stdout


class SecretsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (cls.folder / "bad").mkdir()
        cls.files = bad_files.make(cls.folder / "bad")
        cls.address = cls.enterClassContext(cls.server())

    @classmethod
    @contextlib.contextmanager
    def server(cls):
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=[RefuseAll()])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(0).wait()

    def assert_keeps(self, name: str, code: int, output: bytes, codes: tuple[int, ...]):
        self.assertIn(code, codes, f"{name}: {output[:500]!r}")
        self.assertFalse(bad_files.leaks(output), f"{name}: {output[:500]!r}")
        self.assertNotIn(b"\x1b[31m", output, name)
        self.assertTrue(output.strip(), f"{name}: it says nothing")

    def each(self, files: Iterable[bad_files.BadFile], command, codes: tuple[int, ...]):
        """Runs the program for each, two at a time."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = [(file.name, pool.submit(ended, millrace_process.program(), *command(file))) for file in files]
            for name, run in runs:
                with self.subTest(name):
                    self.assert_keeps(name, *run.result(), codes)

    def named(self, *names: str) -> list[bad_files.BadFile]:
        files = [file for file in self.files if file.name in names]
        self.assertEqual(len(files), len(names))
        return files

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(self.files), 200)
        self.assertTrue(bad_files.leaks(f"got {bad_files.SECRET[5:]}".encode("utf-16")))
        self.assertTrue(bad_files.leaks(bad_files.SECRET.encode().hex(" ").upper().encode()))

    def look_at_all(self, *command: object) -> None:
        """In one process, which says all that it is told."""
        run = subprocess.run([*command, self.address], input=b"".join(b"%s\n" % os.fsencode(file.path)
                                                                      for file in self.files),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=5 * PATIENCE_S,
                             check=False, env={**os.environ, "GRPC_VERBOSITY": "debug"})
        self.assert_keeps(str(command), run.returncode, run.stdout, (0,))
        self.assertIn(f"looked at {len(self.files)} files".encode(), run.stdout)

    def test_watch_and_the_server_with_each_file(self):
        self.look_at_all(os.environ["MILLRACE_SECRET_READER"])

    def test_the_python_client_with_each_file(self):
        self.look_at_all(sys.executable, pathlib.Path(__file__).resolve().parent / "secrets_client.py")

    def test_the_program_watches_with_a_token(self):
        files = self.named("the token", "the server's list", "the server's list with comments (CRLF)", "a key",
                           "the token (UTF-16)", "the token (NUL after)", "the token (escapes)", "huge", "pipe")
        self.each(files, lambda file: ("watch", self.address, "--token-file", str(file.path)), (1, 2))

    def test_the_program_watches_with_tls(self):
        files = self.named("a certificate and a key", "a real certificate and its key")
        for options in (["--ca"], ["--certificate", "--key"]):
            self.each(files, lambda file, options=options: (
                "watch", self.address, *(word for option in options for word in (option, str(file.path)))), (1, 2))

    def config(self, name: str, **sections) -> str:
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(millrace_process.config(**sections)), encoding="utf-8")
        return str(path)

    def test_a_server_with_tokens_certificates_and_keys(self):
        files = self.named("a list with an unknown role", "a key", "pipe")
        ports = {"grpc_port": 0, "http_port": 0, "metrics_port": 0}
        for number, keys in enumerate([("tokens_file",), ("certificate", "key")]):
            for file in files:
                said = {key: str(file.path) for key in keys}
                listen = {**ports, **(said if number == 0 else {"tls": said})}
                config = self.config(f"listen-{number}", listen=listen)
                for command in (("check-config", config), ("serve", "--config", config)):
                    with self.subTest(file.name, command=command):
                        self.assert_keeps(file.name, *ended(millrace_process.program(), *command), (2,))

    def test_a_configuration_that_is_none(self):
        self.each(self.named("the token", "the server's list", "an environment", "JSON", "a key", "a configuration"),
                  lambda file: ("check-config", str(file.path)), (2,))

    def test_the_passwords_of_a_servers_cameras(self):
        """No camera asks for them: the cameras are away. The log has the cause."""
        files = self.named("the token", "a key", "the token (UTF-16)", "huge")
        streams = [{"name": f"camera-{number}", "source": {"uri": "rtsp://admin@127.0.0.1:1/video",
                                                           "password_file": str(file.path)}}
                   for number, file in enumerate(files)]
        for stream, file in zip(streams, files, strict=True):
            with self.subTest(file.name):
                self.assert_keeps(file.name, *ended(millrace_process.program(), "check-config",
                                                    self.config(stream["name"], streams=[stream])), (0, 2))


if __name__ == "__main__":
    unittest.main()
