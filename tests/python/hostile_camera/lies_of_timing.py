"""Lies in the times of messages, and in the end of connections."""

import itertools

from hostile_camera.conversation import (CONNECT, DESCRIBE, OPTIONS, PLAY, SETUP, Action, Actions, Answer, Close,
                                         HalfClose, Pause)
from hostile_camera.lie import Frames, Lie, Packets, Pictures, at
from hostile_camera.material import RATE

_STEPS = (OPTIONS, DESCRIBE, SETUP, PLAY)


def _slowly(size: int, seconds: float):
    """For Lie.wire: this number of bytes at a time."""

    def told(actions: Actions) -> Actions:
        for action in actions:
            if isinstance(action, bytes):
                for i in range(0, len(action), size):
                    yield action[i:i + size]
                    yield Pause(seconds)
            else:
                yield action

    return told


def _instead(step: str, *actions: Action):
    """For Lie.answer: nothing is said at that step; this is done."""
    return at(step, lambda answer: actions)


def _amid(step: str, *actions: Action):
    """For Lie.answer: half of that step's answer, and then this."""

    def told(answer: Answer) -> Actions:
        whole = answer.to_bytes()
        return (whole[:len(whole) // 2], *actions)

    return at(step, told)


def _after_frames(count: int, *actions: Action):
    """For Lie.frames: this number of packets, and then these actions."""

    def told(frames: Frames) -> Frames:
        yield from itertools.islice(frames, count)
        yield from actions

    return told


def _amid_frame(*actions: Action):
    """For Lie.frames: half of a packet comes, and then this."""

    def told(frames: Frames) -> Frames:
        yield from itertools.islice(frames, 20)
        whole = next(frame for frame in frames if not isinstance(frame, Pause)).to_bytes()
        yield whole[:len(whole) // 2]
        yield from actions

    return told


def _rhythm(*pauses: float):
    """For Lie.packets: these pauses in turn, in place of an even one."""

    def told(packets: Packets) -> Packets:
        rhythm = itertools.cycle(pauses)
        return (Pause(next(rhythm)) if isinstance(item, Pause) else item for item in packets)

    return told


def _burst(pictures: Pictures) -> Pictures:
    for _ in itertools.count():
        yield from itertools.islice(pictures, 1000)
        yield Pause(5)


def _without_pauses(packets: Packets) -> Packets:
    return (item for item in packets if not isinstance(item, Pause))


def _at_each_step() -> tuple[Lie, ...]:
    lies = []
    for step in _STEPS:
        name, said = step.lower(), f"to {step}"
        lies += (
            Lie(f"silent-at-{name}", f"nothing is said {said}", step=step, answer=_instead(step, Pause())),
            Lie(f"silent-amid-{name}",
                f"half of the answer {said}, and no more",
                step=step,
                answer=_amid(step, Pause())),
            Lie(f"closes-at-{name}",
                f"the connection ends in place of an answer {said}",
                step=step,
                answer=_instead(step, Close())),
            Lie(f"closes-amid-{name}",
                f"the connection ends within the answer {said}",
                step=step,
                answer=_amid(step, Close())),
            Lie(f"resets-at-{name}",
                f"the connection is reset in place of an answer {said}",
                step=step,
                answer=_instead(step, Close(reset=True))),
        )
    return tuple(lies)


LIES = (
    *_at_each_step(),
    Lie("silent-at-connect",
        "a connection that is accepted, and nothing is said or read",
        step=CONNECT,
        greeting=lambda: (Pause(), )),
    Lie("closes-at-connect", "a connection that ends at once", step=CONNECT, greeting=lambda: (Close(), )),
    Lie("resets-at-connect",
        "a connection that is reset at once",
        step=CONNECT,
        greeting=lambda: (Close(reset=True), )),
    Lie("byte-a-second", "a byte a second", step=CONNECT, wire=_slowly(1, 1)),
    Lie("bytes-100-a-second", "a hundred bytes a second", step=CONNECT, wire=_slowly(10, 0.1)),
    Lie("answers-late",
        "every answer after three seconds",
        step=OPTIONS,
        answer=lambda request, answer: (Pause(3), answer.to_bytes())),
    Lie("silent-after-play", "it plays, and nothing comes", frames=_after_frames(0, Pause())),
    Lie("silent-after-frames", "some frames come, and then none", frames=_after_frames(100, Pause())),
    Lie("silent-amid-frame", "half of a packet comes, and then nothing", frames=_amid_frame(Pause())),
    Lie("closes-after-play", "it plays, and the connection ends", frames=_after_frames(0, Close())),
    Lie("closes-after-frames", "some frames come, and the connection ends", frames=_after_frames(100, Close())),
    Lie("closes-amid-frame", "the connection ends within a packet", frames=_amid_frame(Close())),
    Lie("resets-after-frames",
        "some frames come, and the connection is reset",
        frames=_after_frames(100, Close(reset=True))),
    Lie("half-closes-after-play",
        "it says that nothing more comes, and holds the connection",
        frames=_after_frames(0, HalfClose(), Pause())),
    Lie("half-closes-after-frames", "the same after some frames", frames=_after_frames(100, HalfClose(), Pause())),
    Lie("frame-each-three-seconds", "a picture each three seconds", packets=_rhythm(3)),
    Lie("stops-and-goes",
        "a second of pictures at once, and a second without",
        packets=_rhythm(*[0.0] * (RATE - 1), 1)),
    Lie("stalls-briefly", "1.9 seconds without a picture, again and again", packets=_rhythm(*[1 / RATE] * 10,
                                                                                            1.9)),
    Lie("burst-of-1000",
        "a thousand pictures at once, and five seconds without",
        pictures=_burst,
        packets=lambda packets: (item for item in packets if not isinstance(item, Pause) or item.seconds > 1)),
    Lie("flood", "pictures as fast as they are taken", packets=_without_pauses),
)
