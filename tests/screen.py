"""A terminal for a test: a program that runs in one, what then stands on the screen, and a picture of that."""

import contextlib
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Sequence

from browser import open_browser, save_picture

_ESCAPE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
_PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #11151c; }}
pre {{ display: inline-block; margin: 0; padding: 18px 22px; color: #d7dde5; white-space: pre;
       font: 15px/1.45 "DejaVu Sans Mono", monospace; }}
</style><pre>{text}</pre>"""


class Screen:
    """What is written, with the few things that programs here do to a screen: carriage returns, and lines that are
    cleared from the cursor on. Colours are left out."""

    def __init__(self):
        self.lines = [""]
        self._column = 0

    def write(self, text: str) -> None:
        while text:
            escape = _ESCAPE.match(text)
            if escape:
                if escape[2] == "K":
                    self.lines[-1] = self.lines[-1][:self._column]
                text = text[escape.end():]
                continue
            self._put(text[0])
            text = text[1:]

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self.lines.append("")
            self._column = 0
        else:
            line = self.lines[-1].ljust(self._column)
            self.lines[-1] = line[:self._column] + character + line[self._column + 1:]
            self._column += 1

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n")


class Terminal:
    """One in which a program runs."""

    def __init__(self, master: int, process: subprocess.Popen):
        self._master = master
        self._process = process
        self.screen = Screen()

    def await_screen(self, what: str, condition: Callable[[str], object], patience_s: float) -> str:
        """What stands there once `condition` is true of it."""
        deadline = time.monotonic() + patience_s
        while not condition(self.screen.text):
            ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"waited {patience_s} s in vain for {what}:\n{self.screen.text}")
            self.screen.write(self._read())
        return self.screen.text

    def end(self, patience_s: float) -> int:
        """Sends Ctrl+C and returns the program's exit code."""
        os.write(self._master, b"\x03")
        with contextlib.suppress(OSError):  # Nobody is at the other end any more.
            while select.select([self._master], [], [], patience_s)[0]:
                self.screen.write(self._read())
        return self._process.wait(patience_s)

    def _read(self) -> str:
        return os.read(self._master, 65536).decode(errors="replace")


@contextlib.contextmanager
def runs_in_terminal(command: Sequence[str | pathlib.Path], folder: pathlib.Path,
                     columns: int = 110) -> Iterator[Terminal]:
    """Runs `command` in `folder` while the block runs, in a terminal that is so wide."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))

    def take_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    with subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave,
                          start_new_session=True, preexec_fn=take_terminal) as process:
        os.close(slave)
        try:
            yield Terminal(master, process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            os.close(master)


def save_terminal(text: str, name: str) -> None:
    """A picture of `text`, as save_picture()."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "terminal.html"
        page.write_text(_PAGE.format(text=html.escape(text)), encoding="utf-8")
        browser = open_browser(1400, 900)
        try:
            browser.get(page.as_uri())
            save_picture(browser, name, element="pre")
        finally:
            browser.quit()
