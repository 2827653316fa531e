"""A lie: an honest camera with one difference."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator

from hostile_camera import material, rtp
from hostile_camera.conversation import (CONNECT, DESCRIBE, PLAY, Action, Actions, Answer, Pause, Request,
                                         description)
from hostile_camera.material import AccessUnit
from hostile_camera.rtp import Frame, Packet

Pictures = Iterator[AccessUnit | Pause]
Packets = Iterator[Packet | Frame | Action]
Frames = Iterator[Frame | Action]


@dataclasses.dataclass(frozen=True)
class Lie:
    """Each function gets an honest camera's action, and returns the real action."""

    name: str
    what: str  # In words.
    step: str = PLAY  # Once this is answered the lie is told.
    codec: str = "h264"
    # The URL has a login, so that a client answers a camera that asks for one.
    login: str = ""
    # The number of honest pictures before a lie about pictures.
    behaves_for: int = 0

    greeting: Callable[[], Actions] = tuple  # Before the first request.
    sdp: Callable[[str], bytes] = str.encode
    answer: Callable[[Request, Answer], Actions] = lambda request, answer: (answer.to_bytes(), )
    pictures: Callable[[Pictures], Pictures] = iter
    packets: Callable[[Packets], Packets] = iter
    frames: Callable[[Frames], Frames] = iter
    # The whole of what is sent, answers and pictures.
    wire: Callable[[Actions], Actions] = iter

    def description(self) -> bytes:
        return self.sdp(description(self.codec))

    def played(self) -> Iterator[Action]:
        """What follows the answer to PLAY, without an end."""
        pictures = iter(() if self.codec == "jpeg" else material.endless(self.codec))
        behaved = list(rtp.packets(self.codec, itertools.islice(pictures, self.behaves_for)))
        first = sum(isinstance(item, Packet) for item in behaved)
        packets = self.packets(rtp.packets(self.codec, self.pictures(pictures), first, self.behaves_for))
        yield from rtp.actions(rtp.frames(behaved))
        yield from rtp.actions(self.frames(rtp.frames(packets)))


HONEST = Lie("honest", "an honest camera", step=CONNECT)


def at(step: str, told: Callable[[Answer], Answer | Actions]) -> Callable[[Request, Answer], Actions]:
    """For Lie.answer: only that step's answer is another."""

    def answer(request: Request, honest: Answer) -> Actions:
        if request.method != step:
            return (honest.to_bytes(), )
        lie = told(honest)
        return (lie.to_bytes(), ) if isinstance(lie, Answer) else lie

    return answer


def header(name: str, value: str, step: str = DESCRIBE) -> Callable[[Request, Answer], Actions]:
    """For Lie.answer: that step's answer has this header."""
    return at(step, lambda answer: answer.with_header(name, value))


def each_packet(change: Callable[[Packet, int], Packet | Iterable]) -> Callable[[Packets], Packets]:
    """For Lie.packets: each packet, with its number from 0, is another, or several."""
    return _each(Packet, change)


def each_frame(change: Callable[[Frame, int], Frame | Iterable]) -> Callable[[Frames], Frames]:
    """For Lie.frames, likewise."""
    return _each(Frame, change)


def each_picture(change: Callable[[AccessUnit, int], Iterable[bytes]]) -> Callable[[Pictures], Pictures]:
    """For Lie.pictures: each has other NAL units."""

    def changed(pictures: Pictures) -> Pictures:
        return (tuple(change(picture, number)) for number, picture in enumerate(pictures))

    return changed


def _each(kind: type, change: Callable) -> Callable[[Iterator], Iterator]:

    def changed(items: Iterator) -> Iterator:
        number = 0
        for item in items:
            if not isinstance(item, kind):
                yield item
                continue
            other = change(item, number)
            number += 1
            if isinstance(other, (kind, bytes)):
                yield other
            else:
                yield from other

    return changed
