"""Lies in RTSP's interleaved frames, in RTP and in RTCP."""

import dataclasses
import itertools
import random
import struct

from hostile_camera import rtp
from hostile_camera.lie import Frames, Lie, Packets, each_frame, each_packet
from hostile_camera.material import RATE
from hostile_camera.rtp import RTCP_CHANNEL, Frame


def _with(change):
    """For Lie.packets: `change(packet, number)` says which fields are others."""
    return each_packet(lambda packet, number: dataclasses.replace(packet, **change(packet, number)))


def _before_each(*frames: Frame | bytes):
    """For Lie.frames: these come before each."""
    return each_frame(lambda frame, _: (*frames, frame))


def _reversed(packets: Packets) -> Packets:
    """Eight by eight, the last first."""
    while held := list(itertools.islice(packets, 16)):
        yield from reversed(held)


def _random_below(limit: int):
    numbers = random.Random(1)
    return lambda: numbers.randrange(limit)


def _split(frames: Frames) -> Frames:
    """Every frame byte by byte."""
    for item in frames:
        if isinstance(item, Frame):
            yield from (bytes([byte]) for byte in item.to_bytes())
        else:
            yield item


def _random(field: str, limit: int):
    number = _random_below(limit)
    return _with(lambda packet, _: {field: number()})


_GARBAGE = random.Random(1).randbytes(4096)
_REPORT = Frame(rtp.sender_report(0, 0), RTCP_CHANNEL)


def _report_random():
    number = _random_below(1 << 32)
    return each_frame(lambda frame, _: (Frame(rtp.sender_report(number(), number()), RTCP_CHANNEL), frame))


LIES = (
    # Frames.
    Lie("channel-wrong",
        "a channel that nobody agreed on",
        frames=each_frame(lambda frame, _: dataclasses.replace(frame, channel=77))),
    Lie("channel-changes",
        "another channel for each packet",
        frames=each_frame(lambda frame, n: dataclasses.replace(frame, channel=n % 256))),
    Lie("channel-of-rtcp",
        "pictures on the channel of reports",
        frames=each_frame(lambda frame, _: dataclasses.replace(frame, channel=RTCP_CHANNEL))),
    Lie("frame-longer",
        "lengths beyond the data",
        frames=each_frame(lambda frame, _: dataclasses.replace(frame, length=len(frame.data) + 13))),
    Lie("frame-shorter",
        "lengths that cut the data off",
        frames=each_frame(lambda frame, _: dataclasses.replace(frame, length=len(frame.data) // 2))),
    Lie("frame-of-nothing", "a thousand frames of no bytes before each",
        frames=_before_each(*[Frame(b"")] * 1000)),
    Lie("frame-of-one-byte",
        "frames of one byte",
        frames=each_frame(lambda frame, _: [Frame(bytes([byte])) for byte in frame.data])),
    Lie("frame-of-65535",
        "frames of 65,535 bytes of garbage",
        frames=_before_each(Frame(_GARBAGE * 15 + _GARBAGE[:4095]))),
    Lie("garbage-between", "garbage between the frames", frames=_before_each(_GARBAGE)),
    Lie("dollars-between", "frames' first bytes between them", frames=_before_each(b"$" * 1000)),
    Lie("messages-between",
        "answers between the frames",
        frames=_before_each(b"RTSP/1.0 200 OK\r\nCSeq: 99\r\n\r\n")),
    Lie("frame-in-pieces", "every frame byte by byte", frames=_split),

    # RTP.
    Lie("sequence-random", "random sequence numbers", packets=_random("sequence", 1 << 16)),
    Lie("sequence-still", "one sequence number for all", packets=_with(lambda p, _: {"sequence": 7})),
    Lie("sequence-backwards", "sequence numbers that fall", packets=_with(lambda p, n: {"sequence": -n})),
    Lie("sequence-far",
        "sequence numbers half of the circle apart",
        packets=_with(lambda p, n: {"sequence": n * 0x8000 + n})),
    Lie("sequence-gaps",
        "a thousand numbers missing after each packet",
        packets=_with(lambda p, n: {"sequence": n * 1001})),
    Lie("timestamp-backwards", "timestamps that fall", packets=_with(lambda p, _: {"timestamp": -p.timestamp})),
    Lie("timestamp-random", "random timestamps", packets=_random("timestamp", 1 << 32)),
    Lie("timestamp-still", "one timestamp for all", packets=_with(lambda p, _: {"timestamp": 7})),
    Lie("timestamp-far",
        "timestamps that rise by six hours with each picture",
        packets=_with(lambda p, _: {"timestamp": p.timestamp * RATE * 6 * 3600})),
    Lie("payload-type-wrong",
        "a payload type that nobody agreed on",
        packets=_with(lambda p, _: {"payload_type": 77})),
    Lie("payload-type-changes",
        "another payload type for each packet",
        packets=_with(lambda p, n: {"payload_type": n % 128})),
    Lie("padding-larger",
        "padding larger than its packet",
        packets=_with(lambda p, _: {
            "has_padding": True,
            "payload": p.payload + b"\xff" if len(p.payload) < 240 else b"\xff"
        })),
    Lie("padding-zero",
        "padding of no bytes",
        packets=_with(lambda p, _: {
            "has_padding": True,
            "payload": p.payload + b"\0"
        })),
    Lie("csrc-15",
        "fifteen sources in packets that are too short for them",
        packets=_with(lambda p, _: {
            "csrc_count": 15,
            "payload": p.payload[:40]
        })),
    Lie("extension-long",
        "extensions longer than their packet",
        packets=_with(lambda p, _: {
            "has_extension": True,
            "payload": b"\xbe\xde\xff\xff" + p.payload
        })),
    Lie("extension-missing",
        "extensions that are not there",
        packets=_with(lambda p, _: {
            "has_extension": True,
            "payload": b""
        })),
    Lie("ssrc-changes", "another source for each packet", packets=_with(lambda p, n: {"ssrc": n * 7919})),
    Lie("ssrc-two",
        "two sources in turn, with the same numbers",
        packets=each_packet(lambda p, _: (p, dataclasses.replace(p, ssrc=1)))),
    Lie("version-0", "RTP of version 0", packets=_with(lambda p, _: {"version": 0})),
    Lie("version-3", "RTP of version 3", packets=_with(lambda p, _: {"version": 3})),
    Lie("packet-empty", "packets of no payload", packets=_with(lambda p, _: {"payload": b""})),
    Lie("packet-cut",
        "packets cut within their header",
        frames=each_frame(lambda frame, n: dataclasses.replace(frame, data=frame.data[:n % 12]))),
    Lie("packet-65000",
        "packets of 65,000 bytes",
        packets=_with(lambda p, _: {"payload": p.payload + bytes(65000 - len(p.payload))})),
    Lie("marker-never", "pictures that never end", packets=_with(lambda p, _: {"marker": False})),
    Lie("marker-always", "pictures that end with each packet", packets=_with(lambda p, _: {"marker": True})),
    Lie("packets-tenfold", "every packet ten times", packets=each_packet(lambda p, _: [p] * 10)),
    Lie("packets-reversed", "packets in reverse order", packets=_reversed),
    Lie("packets-random",
        "packets of random bytes",
        frames=each_frame(
            lambda frame, n: dataclasses.replace(frame, data=random.Random(n).randbytes(len(frame.data))))),

    # RTCP.
    Lie("rtcp-garbage", "reports that are garbage", frames=_before_each(Frame(_GARBAGE, RTCP_CHANNEL))),
    Lie("rtcp-length",
        "reports longer than their packet",
        frames=_before_each(Frame(struct.pack("!BBHI", 0x80, 200, 0xFFFF, rtp.SSRC), RTCP_CHANNEL))),
    Lie("rtcp-31-reports",
        "31 reports in a packet without room for them",
        frames=_before_each(Frame(struct.pack("!BBHI", 0x9F, 201, 1, rtp.SSRC), RTCP_CHANNEL))),
    Lie("rtcp-goodbye",
        "a goodbye with each packet, and it goes on",
        frames=_before_each(Frame(rtp.goodbye(), RTCP_CHANNEL))),
    Lie("rtcp-clock-random", "reports whose clock is random", frames=_report_random()),
    Lie("rtcp-flood", "a thousand reports with each packet", frames=_before_each(*[_REPORT] * 1000)),
    Lie("rtcp-sdes-garbage",
        "a source's description without end",
        frames=_before_each(Frame(struct.pack("!BBHIBB", 0x9F, 202, 3, rtp.SSRC, 1, 255) + b"x" * 6,
                                  RTCP_CHANNEL))),
)
