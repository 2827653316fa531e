"""Runs cameras that lie, until standard input ends.

    python3 -m hostile_camera --list
    python3 -m hostile_camera --lie sequence-random [--lie NAME...] [--port 0] [--behave-for N]
    python3 -m hostile_camera --all

Prints `NAME URL` for each camera, then `told NAME` each time that a client has reached the lie.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import sys

from hostile_camera.camera import Camera
from hostile_camera.lie import HONEST, Lie
from hostile_camera.lies import LIES


def _say(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


async def _run(lies: list[Lie], port: int) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for lie in lies:
            camera = await stack.enter_async_context(Camera(lie, port, told=lambda lie: _say(f"told {lie.name}")))
            _say(f"{lie.name} {camera.url}")
        await asyncio.to_thread(sys.stdin.read)


def main() -> int:
    parser = argparse.ArgumentParser(prog="hostile_camera", description="RTSP cameras that lie")
    parser.add_argument("--list", action="store_true", help="say which lies there are, and end")
    parser.add_argument("--lie",
                        action="append",
                        default=[],
                        choices=[*LIES, HONEST.name],
                        metavar="NAME",
                        help="run a camera that tells this one; 'honest' tells none")
    parser.add_argument("--all", action="store_true", help="run a camera for every lie")
    parser.add_argument("--port", type=int, default=0, help="of the one camera; 0 takes a free one")
    parser.add_argument("--behave-for",
                        type=int,
                        default=0,
                        metavar="N",
                        help="show so many honest pictures before a lie about pictures")
    options = parser.parse_args()
    if options.list:
        for lie in LIES.values():
            print(f"{lie.name:28} {lie.what}")
        return 0
    names = list(LIES) if options.all else options.lie
    if not names or (options.port and len(names) > 1):
        parser.error("name a --lie, or --all; --port is for one alone")
    lies = [LIES.get(name, HONEST) for name in names]
    asyncio.run(_run([dataclasses.replace(lie, behaves_for=options.behave_for) for lie in lies], options.port))
    return 0


if __name__ == "__main__":
    sys.exit(main())
