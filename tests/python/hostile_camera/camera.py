"""An RTSP camera that tells one lie to every client."""

import asyncio
import math
import socket
import struct
from collections.abc import Awaitable, Callable

from hostile_camera.conversation import (CONNECT, PLAY, Actions, Close, HalfClose, Pause, Request, honest_answer)
from hostile_camera.lie import Lie

# What may wait to be sent: a lie without end is told as fast as it is listened to.
_HIGH_WATER = 1 << 16

Sleep = Callable[[float], Awaitable[None]]


class Ended(Exception):
    """The session has come to its end."""


async def _sleep(seconds: float) -> None:
    if math.isfinite(seconds):
        await asyncio.sleep(seconds)


class Camera:
    """A camera at `url` on loopback. An asynchronous context manager.

    It calls `told(lie)` each time that a client has reached the lie. It awaits `sleep` for each
    pause, also for a pause without end.
    """

    def __init__(self,
                 lie: Lie,
                 port: int = 0,
                 *,
                 told: Callable[[Lie], None] = lambda lie: None,
                 sleep: Sleep = _sleep):
        self.lie = lie
        self._port = port
        self._told = told
        self._sleep = sleep
        self._server: asyncio.Server | None = None
        self._sessions: set[asyncio.Task] = set()

    async def __aenter__(self) -> "Camera":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_) -> None:
        self._server.close()
        for session in self._sessions:
            session.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)

    @property
    def url(self) -> str:
        login = f"{self.lie.login}@" if self.lie.login else ""
        return f"rtsp://{login}127.0.0.1:{self._port}/live"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._sessions.add(task)
        session = _Session(self.lie, f"rtsp://127.0.0.1:{self._port}/live", reader, writer, self._sleep)
        try:
            await session.run(lambda: self._told(self.lie))
        except asyncio.CancelledError:
            pass  # The camera is removed. No code awaits this task.
        finally:
            self._sessions.discard(task)
            writer.close()


class _Session:
    """One connection."""

    def __init__(self, lie: Lie, url: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                 sleep: Sleep):
        self._lie = lie
        self._url = url
        self._reader = reader
        self._writer = writer
        self._sleep = sleep
        self._player: asyncio.Task | None = None
        writer.transport.set_write_buffer_limits(_HIGH_WATER)

    async def run(self, told: Callable[[], None]) -> None:
        """Until either side ends it."""
        try:
            await self._converse(told)
        except (Ended, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # A client may end it at any time, and say anything.
        finally:
            if self._player is not None:
                self._player.cancel()
                await asyncio.gather(self._player, return_exceptions=True)

    async def _converse(self, told: Callable[[], None]) -> None:
        if self._lie.step == CONNECT:
            told()
        await self._say(self._lie.greeting())
        for number in range(1 << 30):
            request = await self._next_request(number)
            if request.method == self._lie.step:
                told()
            await self._say(self._lie.answer(request, honest_answer(request, self._lie.description())))
            if request.method == PLAY and self._player is None:
                self._player = asyncio.create_task(self._perform(self._lie.played()))

    async def _say(self, actions: Actions) -> None:
        """After a pause without end, nothing more is sent."""
        if not await self._perform(actions):
            while await self._reader.read(4096):
                pass
            raise Ended

    async def _perform(self, actions: Actions) -> bool:
        """Returns whether it came to the end, not to a pause without one."""
        for action in self._lie.wire(actions):
            match action:
                case Pause(seconds):
                    await self._sleep(seconds)
                    if math.isinf(seconds):
                        return False
                case Close(reset):
                    self._close(reset)
                    raise Ended
                case HalfClose():
                    self._writer.write_eof()
                case _:
                    self._writer.write(action)
                    await self._writer.drain()
                    await asyncio.sleep(0)  # drain() alone lets no other task run while the client takes all data.
        return True

    def _close(self, reset: bool) -> None:
        if reset:
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                             struct.pack("ii", 1, 0))
            self._writer.transport.abort()
        else:
            self._writer.close()

    async def _next_request(self, number: int) -> Request:
        """Passes over the client's own reports and answers."""
        while True:
            first = await self._reader.readexactly(1)
            if first == b"$":
                _, length = struct.unpack("!BH", await self._reader.readexactly(3))
                await self._reader.readexactly(length)
                continue
            head = (first + await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *rest = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (item.partition(":") for item in rest)}
            await self._reader.readexactly(int(headers.get("content-length", 0)))
            if not line.startswith("RTSP/"):
                return Request(method=line.split()[0], cseq=headers.get("cseq", "0"), url=self._url, number=number)
