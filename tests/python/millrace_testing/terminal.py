"""Runs the real `millrace` on a terminal, as a person would.

    seen = terminal.run("plan", "--config", path, columns=40)
    seen.code, seen.shown, seen.screen
"""

import contextlib
import dataclasses
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pyte

from millrace_testing import millrace_process

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ROWS = 24
_WIDE, _LONG = 300, 300  # Columns and rows beyond all output.


@dataclasses.dataclass(frozen=True)
class Seen:
    code: int
    shown: str  # All output, unchanged.
    columns: int

    @property
    def coloured(self) -> bool:
        return _COLOUR.search(self.shown) is not None

    @property
    def screen(self) -> list[str]:
        """The final lines of a terminal that neither wraps nor scrolls, up to the cursor."""
        screen = pyte.Screen(_WIDE, _LONG)
        pyte.Stream(screen).feed(self.shown)
        return [line.rstrip() for line in screen.display[: screen.cursor.y + 1]]

    @property
    def rewritten(self) -> list[str]:
        """Each state of the lines that rewrite themselves."""
        return re.findall(r"\r([^\r\n\x1b]+)\x1b\[K", self.shown)


def start(*arguments: str, columns: int = 80, **options) -> tuple[subprocess.Popen, int]:
    """Starts `millrace ARGUMENTS` with standard output and error on a terminal. Returns the
    terminal's other end, to be read and closed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    process = subprocess.Popen(
        [millrace_process.program(), *arguments],
        cwd=millrace_process.ROOT, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, **options,
    )  # fmt: skip
    os.close(theirs)
    return process, ours


def read(terminal: int) -> str:
    """All output until the program has closed the terminal."""
    shown = b""
    with contextlib.suppress(OSError):  # Linux reports the closed terminal as EIO.
        while part := os.read(terminal, 4096):
            shown += part
    return shown.decode()


def read_until(terminal: int, pattern: str) -> str:
    """The output up to a match of `pattern`, in which a dot matches any character."""
    shown = ""
    deadline = time.monotonic() + millrace_process.PATIENCE_S
    while not re.search(pattern, shown, re.DOTALL):
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"{pattern} never came:\n{shown}")
        shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


def run(*arguments: str, columns: int = 80, **options) -> Seen:
    """Runs `millrace ARGUMENTS` until it ends."""
    process, terminal = start(*arguments, columns=columns, **options)
    try:
        shown = read(terminal)
        return Seen(process.wait(millrace_process.PATIENCE_S), shown, columns)
    finally:
        os.close(terminal)
        if process.poll() is None:
            process.kill()
            process.wait()
