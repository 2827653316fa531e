"""The child processes of a process: the server's children are its cameras' processes."""

import contextlib
import pathlib


def children(pid: int) -> list[int]:
    """Of all of its threads. It may end meanwhile, and so may they."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, (task / "children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """Children, theirs, and so on."""
    return [one for child in children(pid) for one in (child, *descendants(child))]
