"""Files that hold a token, a certificate or a key. No message repeats what one holds."""

import os
import pathlib
import stat

# More than any of them has; of a file that is none, no more is read.
_MOST_BYTES = 1 << 20


def read_file(path: str | pathlib.Path) -> bytes:
    """What a file holds. Raises OSError where it cannot be read, and ValueError where it is a
    folder, a pipe or a device, or far too long: none is waited for."""
    path = pathlib.Path(path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path} is no file")
    with open(os.open(path, flags), "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{path} is too long: it has more than a megabyte")
    return data
