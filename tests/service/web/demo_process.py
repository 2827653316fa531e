"""The demo server of the live page (demo_server.cc) as a process of a test."""

import pathlib
import signal
import subprocess

PATIENCE_S = 30


class DemoServer:
    """On a free port or a given one. `kind`: further arguments of the program."""

    def __init__(self, program: pathlib.Path, *kind: str, port: int = 0):
        self._process = subprocess.Popen(
            [program, str(port), *kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.page, self.metrics = self._process.stdout.readline().split()
        self.port = int(self.page.rsplit(":", 1)[1])

    def tell(self, line: str) -> None:
        """"garage away"."""
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def stop(self) -> None:
        self._end()

    def kill(self) -> None:
        self._process.kill()
        self._end()

    def freeze(self) -> None:
        """It lives, and answers nothing until it is thawed."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _end(self) -> None:
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._process.stdout.close()
