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

from millrace_testing import millrace_process

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ROWS = 24


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
        """The final lines of a terminal that scrolls without limit."""
        lines, row, column = [""], 0, 0
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|[^\x1b]", _COLOUR.sub("", self.shown)):
            if part == "\r":
                column = 0
            elif part == "\n":
                row += 1
                if row == len(lines):
                    lines.append("")
            elif part == "\x1b[K":
                lines[row] = lines[row][:column]
            elif part.endswith("A") and part.startswith("\x1b"):
                row -= int(part[2:-1])
            else:
                lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + 1 :]
                column += 1
        return lines

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
