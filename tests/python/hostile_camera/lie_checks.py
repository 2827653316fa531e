"""A check for each lie: the data that a client must have received. Each check fails on an honest camera."""

import itertools
import math
import re
import struct
from collections.abc import Callable, Sequence

from hostile_camera import bits, material, rtp
from hostile_camera.conversation import DESCRIBE, OPTIONS, PLAY, SETUP
from hostile_camera.heard import Heard, HeardPacket

Check = Callable[[Heard], object]

# ------------------------------------------------------------------------------- What is looked at --


def described(pattern: str, times: int = 1) -> Check:
    return lambda heard: len(re.findall(pattern.encode(), heard.sdp, re.MULTILINE)) >= times


def says(name: str, pattern: str, step: str = DESCRIBE) -> Check:
    """The header of an answer."""
    return lambda heard: any(re.fullmatch(pattern, value) for value in heard.header(name, step))


def answers(pattern: bytes, step: str = DESCRIBE) -> Check:
    """The data instead of an honest answer begin in this way."""
    return lambda heard: re.match(pattern, heard.since(step), re.DOTALL)


def without(name: str, step: str) -> Check:
    return lambda heard: not heard.header(name, step) and heard.since(step).startswith(b"RTSP/1.0 200 OK\r\n")


def without_end(piece: bytes, step: str = DESCRIBE) -> Check:
    """As far as it was listened to."""
    return lambda heard: heard.end == "limit" and piece * 100 in heard.since(step)[-200 * len(piece):]


def every(judge: Callable[[HeardPacket], object], at_least: int = 50) -> Check:
    return lambda heard: len(heard.packets) >= at_least and all(map(judge, heard.packets))


def between(judge: Callable[[Sequence[HeardPacket]], object], field: str) -> Check:
    """Of each packet and the next, by a field."""
    return lambda heard: len(heard.packets) >= 50 and all(
        judge(getattr(a, field), getattr(b, field)) for a, b in itertools.pairwise(heard.packets))


def many(field: str) -> Check:
    """A field has another value almost each time."""
    return lambda heard: len({getattr(packet, field)
                              for packet in heard.packets}) > 0.9 * min(128, len(heard.packets))


def frames(judge: Callable[[int, bytes], object]) -> Check:
    return lambda heard: len(heard.frames) >= 20 and all(judge(*frame) for frame in heard.frames)


def before_each_frame(pattern: bytes) -> Check:
    return lambda heard: re.match(pattern + rb"\$\0", heard.stream, re.DOTALL)


def reports(judge: Callable[[bytes], object]) -> Check:
    return lambda heard: len(heard.reports) >= 20 and all(map(judge, heard.reports))


def units(judge: Callable[[bytes], object], codec: str = "h264") -> Check:
    return lambda heard: len(heard.units(codec)) >= 20 and all(judge(unit) for unit in heard.units(codec))


def no_unit(kind: int, codec: str = "h264") -> Check:
    return units(lambda unit: material.kind(codec, unit) != kind, codec)


def sps(judge: Callable[[bytes], object], codec: str = "h264") -> Check:
    """Every sequence parameter set."""
    number = {"h264": 7, "h265": 33}[codec]

    def check(heard: Heard) -> bool:
        found = [unit for unit in heard.units(codec) if material.kind(codec, unit) == number]
        return len(found) >= 3 and all(map(judge, found))

    return check


def slices(judge: Callable[[bytes, bytes], object], codec: str = "h264") -> Check:
    """Each slice beside the one that an honest camera has in its place."""

    def check(heard: Heard) -> bool:
        told = [unit for unit in heard.units(codec) if material.is_picture(codec, unit)]
        true = itertools.cycle(picture[-1] for picture in material.access_units(codec))
        return len(told) >= 20 and all(judge(*pair) for pair in zip(told[:-1], true))

    return check


def fragments(codec: str, judge: Callable[[list[tuple[bool, bool]]], object]) -> Check:
    """By whether each of them starts a unit, and ends one."""
    kind, at = {"h264": (28, 1), "h265": (49, 2)}[codec]

    def check(heard: Heard) -> bool:
        of = [packet.payload for packet in heard.packets]
        return (len(of) >= 50 and all(material.kind(codec, payload) == kind for payload in of)
                and judge([(bool(payload[at] & 128), bool(payload[at] & 64)) for payload in of]))

    return check


def payloads(pattern: bytes) -> Check:
    return every(lambda packet: re.match(pattern, packet.payload, re.DOTALL))


def ends(how: str, step: str, left: bytes = b"", *pauses: float) -> Check:
    """At that step only this is said, and then the connection ends."""
    return lambda heard: (heard.end == how and heard.pauses == pauses and re.fullmatch(
        left, heard.since(step), re.DOTALL))


def plays(how: str, count: int, *last: float) -> Check:
    """About `count` packets come, with these last pauses, and the connection ends in this way."""
    return lambda heard: (heard.end == how and abs(len(heard.frames) - count) <= 10 and heard.pauses[len(
        heard.pauses) - len(last):] == last)


def refuses(challenge: str) -> Check:
    return lambda heard: (heard.since(DESCRIBE).startswith(b"RTSP/1.0 401 Unauthorized\r\n") and says(
        "WWW-Authenticate", challenge)(heard))


def moved(place: str, step: str = DESCRIBE) -> Check:
    return lambda heard: heard.since(step).startswith(b"RTSP/1.0 302 Moved\r\n") and says("Location", place, step)(
        heard)


def sizes(codec: str) -> Check:
    """One after the other, of what the parameter sets say."""
    number = {"h264": 7, "h265": 33}[codec]
    return lambda heard: len({unit for unit in heard.units(codec) if material.kind(codec, unit) == number}) >= 4


def damaged(told: bytes, true: bytes) -> bool:
    return len(told) == len(true) and told[:4] == true[:4] and told != true


# ------------------------------------------------------------------------------------ What is told --

DESCRIPTION: dict[str, Check] = {
    "sdp-empty": lambda heard: heard.sdp == b"" and heard.header("Content-Length", DESCRIBE) == ["0"],
    "sdp-no-media": lambda heard: heard.sdp.startswith(b"v=0") and b"m=" not in heard.sdp,
    "sdp-media-1000": described("^m=video", 1000),
    "sdp-media-twice": described("^a=control:track1\r$", 2),
    "sdp-not-utf8": lambda heard: b"s=\xff\xfe" in heard.sdp,
    "sdp-zero-bytes": described("\0s=camera\0"),
    "sdp-garbage": lambda heard: len(heard.sdp) > 100 and len(set(heard.sdp)) > 150,
    "sdp-huge": lambda heard: len(heard.sdp) > 9_000_000,
    "sdp-line-huge": lambda heard: b"y" * 4_000_000 in heard.sdp,
    "sdp-lines-100000": described("^a=\r$", 100_000),
    "sdp-size-absurd": described("^a=framesize:96 99999-99999\r$"),
    "sdp-framerate-negative": described("^a=framerate:-25\r$"),
    "sdp-fmtp-of-another": described("^a=fmtp:77 "),
    "sdp-mode-9": described("packetization-mode=9"),
    "sdp-sprop-no-base64": described("sprop-parameter-sets=!!%%"),
    "sdp-sprop-random": described("sprop-parameter-sets=Z9j1pQ7xk3Lr"),
    "sdp-sprop-empty": described("sprop-parameter-sets=,,,,"),
    "sdp-sprop-huge": lambda heard: b"AAAA" * 750_000 in heard.sdp,
    "sdp-sprop-1000": described("Z0LAHtoF,", 1000),
    "sdp-payload-type-200": described("^m=video 0 RTP/AVP 200\r$"),
    "sdp-payload-types-1000": described("^m=video 0 RTP/AVP( 96){1000}\r$"),
    "sdp-clock-zero": described("^a=rtpmap:96 H264/0\r$"),
    "sdp-clock-huge": described("^a=rtpmap:96 H264/4294967295999\r$"),
    "sdp-clock-negative": described("^a=rtpmap:96 H264/-90000\r$"),
    "sdp-rtpmap-missing": lambda heard: b"RTP/AVP 96" in heard.sdp and b"rtpmap" not in heard.sdp,
    "sdp-codec-unknown": described("^a=rtpmap:96 SNAKEOIL/90000\r$"),
    "sdp-codec-of-another": lambda heard: b"H265/90000" in heard.sdp and material.kind("h264",
                                                                                       heard.units()[0]) == 7,
    "sdp-audio-only": lambda heard: b"m=audio" in heard.sdp and b"m=video" not in heard.sdp,
    "sdp-control-elsewhere": described("^a=control:rtsp://127.0.0.2:1/track1\r$"),
    "sdp-control-long": described("^a=control:x{60000}x{40000}\r$"),
    "sdp-control-file": described("^a=control:file:///dev/zero\r$"),
    "sdp-port-negative": described("^m=video -1/-1 "),
    "sdp-transport-unknown": described("^m=video 0 CARRIER/PIGEON 96\r$"),
    "sdp-range-absurd": described("^a=range:npt=-1e300-1e300\r$"),
    "sdp-address-absurd": described("^c=IN IP4 999.999.999.999/999/999\r$"),
    "sdp-multicast": described("^c=IN IP4 239.1.2.3/127\r$"),
    "sdp-ssrc-1000": described("^a=ssrc:[0-9]+ cname:x", 1000),
    "sdp-key-mgmt-garbage": described("^a=key-mgmt:mikey AAAA"),
    "sdp-srtp": described("^m=video 0 RTP/SAVP 96\r$"),
    "sdp-extmap-garbage": described("^a=extmap:-1 \0\r$"),
    "sdp-rtcp-fb-garbage": described("^a=rtcp-fb:.*( x){500}\r$", 100),
    "sdp-version-absurd": described("^v=99999999999\r$"),
}

HEADERS: dict[str, Check] = {
    "header-without-end": without_end(b"X-Header: " + b"x" * 100 + b"\r\n"),
    "line-without-end": without_end(b"x" * 1000),
    "status-line-without-end": without_end(b"K" * 1000),
    "blank-lines-without-end": without_end(b"\r\n"),
    "continue-without-end": without_end(b"RTSP/1.0 100 Continue\r\n\r\n"),
    "zero-bytes-without-end": without_end(b"\0"),
    "options-line-without-end": without_end(b"x" * 1000, OPTIONS),
    "play-header-without-end": without_end(b"X-Header: x\r\n", PLAY),
    "content-length-negative": says("Content-Length", "-1"),
    "content-length-huge": says("Content-Length", "2000000000"),
    "content-length-2-to-64": says("Content-Length", "18446744073709551616"),
    "content-length-text": says("Content-Length", "many"),
    "content-length-short": lambda heard: b"a=control" not in heard.sdp and b"a=control" in heard.since(DESCRIBE),
    "content-length-long": lambda heard: b"RTSP/1.0" in heard.sdp,
    "content-length-zero": lambda heard: heard.sdp == b"" and b"a=control" in heard.since(DESCRIBE),
    "content-length-missing": lambda heard: without("Content-Length", DESCRIBE)
    (heard) and b"a=control" in heard.since(DESCRIBE),
    "content-length-twice": lambda heard: len(set(heard.header("Content-Length", DESCRIBE))) == 2,
    "content-length-in-setup": lambda heard: b"x" * 1_000_000 in heard.since(SETUP),
    "cseq-wrong": says("CSeq", "4711"),
    "cseq-negative": says("CSeq", "-2147483649"),
    "cseq-missing": without("CSeq", DESCRIBE),
    "cseq-twice": lambda heard: len(set(heard.header("CSeq", DESCRIBE))) == 2,
    "session-changes": lambda heard: heard.header("Session", SETUP) != heard.header("Session", PLAY) != [],
    "session-missing": lambda heard: without("Session", SETUP)(heard) and without("Session", PLAY)(heard),
    "session-huge": says("Session", "s{1000000}", SETUP),
    "session-timeout-zero": says("Session", ".*timeout=0", SETUP),
    "session-timeout-absurd": says("Session", ".*timeout=-99999999999", SETUP),
    "headers-1000": lambda heard: len(heard.header("X-Header", DESCRIBE)) == 1000,
    "header-huge": says("X-Header", "x{4000000}"),
    "header-without-colon": lambda heard: "\r\nno colon here" in heard.head(DESCRIBE),
    "header-binary": lambda heard: "X-\xff\xfe: \x01\x80\xff" in heard.head(DESCRIBE),
    "header-zero-byte": says("X-Header", "a\0b"),
    "header-folded-1000": lambda heard: heard.head(DESCRIBE).count("\r\n x") == 1000,
    "line-feeds-only": lambda heard: re.match(rb"[^\r]*\n\nv=0", heard.since(DESCRIBE)),
    "carriage-returns-only": lambda heard: re.match(rb"[^\n]*\r\rv=0", heard.since(DESCRIBE)),
    "content-type-wrong": says("Content-Type", "text/html"),
    "content-base-absurd": says("Content-Base", re.escape("://%%%[[[")),
    "public-nothing": says("Public", "", OPTIONS),
    "transport-missing": without("Transport", SETUP),
    "transport-channels-absurd": says("Transport", ".*interleaved=300-70000", SETUP),
    "transport-channels-negative": says("Transport", ".*interleaved=-5--1", SETUP),
    "transport-udp": says("Transport", "RTP/AVP;unicast;client_port=.*", SETUP),
    "transport-multicast": says("Transport", "RTP/AVP;multicast;.*", SETUP),
    "transport-garbage": says("Transport", ";;;=;\x01RTP///.*", SETUP),
    "rtp-info-garbage": says("RTP-Info", "url=;seq=-1;.*", PLAY),
    "range-absurd": says("Range", "npt=-1e300-1e300", PLAY),
    "scale-zero": lambda heard: says("Scale", "0", PLAY)(heard) and says("Speed", "nan", PLAY)(heard),
    "status-garbage": answers(b"\x01\x02\xff garbage\r\n"),
    "status-999": answers(b"RTSP/1.0 999 "),
    "status-negative": answers(b"RTSP/1.0 -200 "),
    "status-without-code": answers(b"RTSP/1.0\r\n"),
    "status-http": answers(b"HTTP/1.1 200 OK\r\n"),
    "status-version-9": answers(b"RTSP/9.9 200 OK\r\n"),
    "status-setup-461": answers(b"RTSP/1.0 461 ", SETUP),
    "status-play-454": answers(b"RTSP/1.0 454 ", PLAY),
    "speaks-first": answers(rb"(RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n){10}RTSP/1.0 200 OK\r\nCSeq: 1\r\nServer",
                            OPTIONS),
    "greets-by-garbage": answers(re.escape(bytes(range(256))), OPTIONS),
    "answers-twice": lambda heard: heard.raw.count(b"\r\nContent-Base: ") == 2,
    "asks-without-end": lambda heard: heard.since(DESCRIBE).count(b"OPTIONS * RTSP/1.0\r\n") == 2000,
    "announces-another": answers(b".*ANNOUNCE . RTSP/1.0\r\n"),
    "sends-on-redirect": answers(b".*REDIRECT . RTSP/1.0\r\n"),
    "unauthorized-for-ever": refuses('Basic realm="camera"'),
    "nonce-changes-for-ever": lambda heard: len(
        set(re.findall(rb'Digest realm="camera", nonce="(\w{32})"\r', heard.raw))) == 4,
    "nonce-stale-for-ever": refuses('Digest .*, stale=true'),
    "digest-garbage": refuses('Digest realm="a, nonce=.*'),
    "digest-huge": refuses('Digest realm="a", nonce="n{1000000}"'),
    "challenges-1000": refuses('(Basic realm="a"(, |$)){1000}'),
    "redirect-to-itself": moved(r"rtsp://127.0.0.1:\d+/live"),
    "redirect-further": moved(r"rtsp://127.0.0.1:\d+/livex"),
    "redirect-elsewhere": moved("rtsp://127.0.0.2:1/live"),
    "redirect-to-file": moved("file:///dev/zero"),
    "redirect-without-place": lambda heard: answers(b"RTSP/1.0 302 Moved\r\n")
    (heard) and not heard.header("Location", DESCRIBE),
    "redirect-place-huge": moved(".*/live/x{1000000}"),
    "redirect-play": moved(r"rtsp://127.0.0.1:\d+/live", PLAY),
}

PACKETS: dict[str, Check] = {
    "channel-wrong": frames(lambda channel, data: channel == 77),
    "channel-changes": lambda heard: {channel
                                      for channel, _ in heard.frames} == set(range(256)),
    "channel-of-rtcp": frames(
        lambda channel, data: channel == rtp.RTCP_CHANNEL and data[0] == 0x80 and data[1] & 127 == 96),
    "frame-longer": lambda heard: heard.frames[0][1][-13:-12] == b"$" and len(heard.frames) < 3,
    "frame-shorter": lambda heard: len(heard.frames) == 1,
    "frame-of-nothing": before_each_frame(rb"(\$\0\0\0){1000}"),
    "frame-of-one-byte": frames(lambda channel, data: len(data) == 1),
    "frame-of-65535": lambda heard: [len(data) for _, data in heard.frames][0::2] == [65535] * math.ceil(
        len(heard.frames) / 2),
    "garbage-between": lambda heard: heard.stream[:1] != b"$" and heard.stream[4096:4097] == b"$",
    "dollars-between": before_each_frame(rb"\${1000}"),
    "messages-between": before_each_frame(rb"RTSP/1.0 200 OK\r\nCSeq: 99\r\n\r\n"),
    "sequence-random": lambda heard: many("sequence")(heard) and not between(lambda a, b: b ==
                                                                             (a + 1) % 65536, "sequence")(heard),
    "sequence-still": every(lambda packet: packet.sequence == 7),
    "sequence-backwards": between(lambda a, b: b == (a - 1) % 65536, "sequence"),
    "sequence-far": between(lambda a, b: b == (a + 0x8001) % 65536, "sequence"),
    "sequence-gaps": between(lambda a, b: b == (a + 1001) % 65536, "sequence"),
    "timestamp-backwards": between(lambda a, b: (a - b) % 2**32 in (0, 3600), "timestamp"),
    "timestamp-random": lambda heard: len({packet.timestamp
                                           for packet in heard.packets}) > 0.9 * len(heard.packets),
    "timestamp-still": every(lambda packet: packet.timestamp == 7),
    "timestamp-far": between(lambda a, b: (b - a) % 2**32 in (0, 6 * 3600 * 90000), "timestamp"),
    "payload-type-wrong": every(lambda packet: packet.payload_type == 77),
    "payload-type-changes": many("payload_type"),
    "padding-larger": every(lambda packet: packet.has_padding and packet.payload[-1] > len(packet.payload)),
    "padding-zero": every(lambda packet: packet.has_padding and packet.payload[-1] == 0),
    "csrc-15": every(lambda packet: packet.csrc_count * 4 > len(packet.payload)),
    "extension-long": every(lambda packet: packet.has_extension and struct.unpack_from("!H", packet.payload, 2)[0]
                            * 4 > len(packet.payload)),
    "extension-missing": every(lambda packet: packet.has_extension and not packet.payload),
    "ssrc-changes": many("ssrc"),
    "ssrc-two": lambda heard: all(a.ssrc != b.ssrc and a.sequence == b.sequence
                                  for a, b in zip(heard.packets[:100:2], heard.packets[1:100:2])),
    "version-0": every(lambda packet: packet.version == 0),
    "version-3": every(lambda packet: packet.version == 3),
    "packet-empty": every(lambda packet: packet.payload == b""),
    "packet-cut": frames(lambda channel, data: len(data) < 12),
    "packet-65000": every(lambda packet: len(packet.payload) == 65000, at_least=3),
    "marker-never": every(lambda packet: not packet.marker),
    "marker-always": every(lambda packet: packet.marker),
    "packets-tenfold": lambda heard: all(packet == heard.packets[i // 10 * 10] for i, packet in enumerate(
        heard.packets[:200])) and len(heard.packets) > 200,
    "packets-reversed": lambda heard: sum(a.sequence > b.sequence for a, b in itertools.pairwise(heard.packets)) >
    0.7 * len(heard.packets),
    "packets-random": lambda heard: many("ssrc")(heard) and len({packet.version
                                                                 for packet in heard.packets}) == 4,
    "rtcp-garbage": reports(lambda report: len(report) == 4096 and len(set(report)) == 256),
    "rtcp-length": reports(lambda report: struct.unpack_from("!H", report, 2)[0] * 4 > len(report)),
    "rtcp-31-reports": reports(lambda report: report[0] & 31 == 31 and len(report) == 8),
    "rtcp-goodbye": reports(lambda report: report[1] == 203),
    "rtcp-clock-random": lambda heard: len({report[8:12]
                                            for report in heard.reports}) > 20,
    "rtcp-flood": lambda heard: len(heard.reports) > 900 * len(heard.packets) > 0,
    "rtcp-sdes-garbage": reports(lambda report: report[1] == 202 and report[9] > len(report)),
}

PICTURES: dict[str, Check] = {
    "fu-without-end": fragments(
        "h264", lambda flags: not any(end for _, end in flags) and sum(start for start, _ in flags) >= 3),
    "fu-without-start": fragments(
        "h264", lambda flags: not any(start for start, _ in flags) and sum(end for _, end in flags) >= 3),
    "fu-all-in-one": fragments("h264", lambda flags: set(flags) == {(True, True)}),
    "fu-all-starts": fragments("h264", lambda flags: set(flags) == {(True, False)}),
    "fu-of-nothing": payloads(rb"\x7c\x85\Z"),
    "fu-header-cut": payloads(rb"\x7c\Z"),
    "fu-of-fu": payloads(rb"\x7c[\x9c\x5c]"),
    "unit-without-end": fragments("h264", lambda flags: flags == [(True, False)] + [(False, False)] *
                                  (len(flags) - 1)),
    "stap-longer": payloads(rb"\x78\xff\xff.{1000}\Z"),
    "stap-of-nothing": payloads(rb"\x78\0{200}\Z"),
    "stap-header-cut": payloads(rb"\x78\0\Z"),
    "stap-in-stap": payloads(rb"\x78\0\x04\x78"),
    "mtap": payloads(rb"\x1a"),
    "nal-reserved": units(lambda unit: unit[0] & 31 in (6, 7, 8, 16, 17, 18, 22, 23)),
    "nal-type-zero": units(lambda unit: unit[0] & 31 in (0, 30, 31)),
    "nal-forbidden": units(lambda unit: unit[0] & 128),
    "nal-of-one-byte": slices(lambda told, true: len(told) == 1),
    "nal-start-codes": slices(lambda told, true: told[4:7] == b"\0\0\1"),
    "sps-missing": no_unit(7),
    "pps-missing": no_unit(8),
    "slices-only": lambda heard: no_unit(7)(heard) and no_unit(8)(heard),
    "sets-only": units(lambda unit: unit[0] & 31 in (7, 8)),
    "key-frame-never": no_unit(5),
    "sps-16384": sps(lambda unit: bits.h264_size(unit) == (16384, 16384)),
    "sps-8k": sps(lambda unit: bits.h264_size(unit) == (8192, 4320)),
    "sps-1000000": sps(lambda unit: bits.h264_size(unit) == (1_000_000, 16)),
    "sps-zero": sps(lambda unit: bits.h264_size(unit) == (0, 0)),
    "sps-crop-beyond": sps(lambda unit: max(bits.h264_size(unit)) < 0),
    "sps-cut": sps(lambda unit: len(unit) == 5),
    "sps-random": sps(lambda unit: len(unit) == 61),
    "sps-references-65535": sps(lambda unit: unit == bits.h264_sps(4, 4, reference_frames=65535)),
    "sps-1000": lambda heard: [unit[0] & 31 for unit in heard.units()[:1000]] == [7] * 1000,
    "size-each-frame": sizes("h264"),
    "slice-random": slices(lambda told, true: told[:4] == true[:4] and told[4:50] != true[4:50]),
    "slice-damaged": slices(damaged),
    "slice-cut": slices(lambda told, true: told == true[:len(true) // 2]),
    "slice-twice": lambda heard: [unit for unit in heard.units() if unit[0] & 31 == 5][0::2] ==
    [unit for unit in heard.units() if unit[0] & 31 == 5][1::2] != [],
    "slices-1000": lambda heard: all(unit == heard.units()[5] for unit in heard.units()[5:1000]),
    "sei-huge": lambda heard: len(heard.units()[0]) > 1_000_000 and heard.units()[0][0] & 31 == 6,
    "delimiters-1000": lambda heard: heard.units()[:1000] == [b"\x09\xf0"] * 1000,
    "end-of-stream-each": lambda heard: heard.units().count(b"\x0b") > 20,
    "h265-fu-without-end": fragments(
        "h265", lambda flags: not any(end for _, end in flags) and sum(start for start, _ in flags) >= 3),
    "h265-fu-without-start": fragments(
        "h265", lambda flags: not any(start for start, _ in flags) and sum(end for _, end in flags) >= 3),
    "h265-unit-without-end": fragments(
        "h265", lambda flags: flags == [(True, False)] + [(False, False)] * (len(flags) - 1)),
    "h265-ap-longer": payloads(rb"\x60\x01\xff\xff.{1000}\Z"),
    "h265-header-cut": payloads(rb"\x26\Z"),
    "h265-reserved": every(lambda packet: packet.payload[0] >> 1 in range(41, 48)),
    "h265-paci": every(lambda packet: packet.payload[0] >> 1 == 50),
    "h265-sets-missing": lambda heard: all(no_unit(kind, "h265")(heard) for kind in (32, 33, 34)),
    "h265-sps-16384": sps(lambda unit: bits.h265_size(unit) == (16384, 16384), "h265"),
    "h265-sps-zero": sps(lambda unit: bits.h265_size(unit) == (0, 0), "h265"),
    "h265-sps-random": sps(lambda unit: len(unit) == 62, "h265"),
    "h265-size-each-frame": sizes("h265"),
    "h265-slice-random": slices(lambda told, true: told[:5] == true[:5] and told[5:50] != true[5:50], "h265"),
    "h265-slice-damaged": slices(damaged, "h265"),
    "jpeg-zero": payloads(rb"\0{4}\x01\x32\0\0"),
    "jpeg-offset-far": lambda heard: {packet.payload[:4]
                                      for packet in heard.packets} == {b"\0\0\0\0", b"\0\xff\xff\xff"},
    "jpeg-type-255": payloads(rb"\0{4}\xff"),
    "jpeg-tables-long": payloads(rb"\0{4}\x01\xff\x08\x08\0\0\xff\xff.{1000}\Z"),
    "jpeg-random": payloads(rb"\0{4}\x01\x32\x08\x08.{1000}\Z"),
    "jpeg-header-cut": payloads(rb"\0{4}\x01\Z"),
}

_HALF = rb"RTSP/1.0 200 OK\r\nCSeq: (?!.*\r\n\r\n).*"
TIMING: dict[str, Check] = {
    **{
        f"silent-at-{step.lower()}": ends("closed", step, b"", math.inf)
        for step in (OPTIONS, DESCRIBE, SETUP, PLAY)
    },
    **{
        f"silent-amid-{step.lower()}": ends("closed", step, _HALF, math.inf)
        for step in (OPTIONS, SETUP, PLAY)
    },
    **{
        f"closes-at-{step.lower()}": ends("closed", step)
        for step in (OPTIONS, DESCRIBE, SETUP, PLAY)
    },
    **{
        f"closes-amid-{step.lower()}": ends("closed", step, _HALF)
        for step in (OPTIONS, SETUP, PLAY)
    },
    **{
        f"resets-at-{step.lower()}": ends("reset", step)
        for step in (OPTIONS, DESCRIBE, SETUP, PLAY)
    },
    "silent-amid-describe": ends("closed", DESCRIBE, rb"RTSP/1.0 200 OK(?!.*a=control).*", math.inf),
    "closes-amid-describe": ends("closed", DESCRIBE, rb"RTSP/1.0 200 OK(?!.*a=control).*"),
    "silent-at-connect": ends("closed", OPTIONS, b"", math.inf),
    # What a client had said by then was not read, which may make it a reset.
    "closes-at-connect": lambda heard: heard.raw == b"" and heard.end in ("closed", "reset") and not heard.pauses,
    "resets-at-connect": ends("reset", OPTIONS),
    "byte-a-second": lambda heard: heard.pauses.count(1) >= len(heard.raw),
    "bytes-100-a-second": lambda heard: heard.pauses.count(0.1) >= len(heard.raw) / 10,
    "answers-late": lambda heard: heard.pauses[:4] == (3, 3, 3, 3),
    "silent-after-play": plays("closed", 0, math.inf),
    "silent-after-frames": plays("closed", 60, 0.04, math.inf),
    "silent-amid-frame": lambda heard: heard.end == "closed" and heard.pauses[-1] == math.inf and heard.stream[
        -200:].count(b"\0") < 200 and _is_cut(heard),
    "closes-after-play": plays("closed", 0),
    "closes-after-frames": plays("closed", 60),
    "closes-amid-frame": lambda heard: heard.end == "closed" and math.inf not in heard.pauses and _is_cut(heard),
    "resets-after-frames": plays("reset", 60),
    "half-closes-after-play": plays("closed", 0, math.inf),
    "half-closes-after-frames": plays("closed", 60, math.inf),
    "frame-each-three-seconds": lambda heard: set(heard.pauses) == {3},
    "stops-and-goes": lambda heard: heard.pauses[:50] == ((0, ) * 24 + (1, )) * 2,
    "stalls-briefly": lambda heard: heard.pauses[:22] == ((0.04, ) * 10 + (1.9, )) * 2,
    "burst-of-1000": lambda heard: set(heard.pauses) == {5} and sum(packet.marker
                                                                    for packet in heard.packets) >= 1000,
    "flood": lambda heard: heard.end == "limit" and heard.pauses == (),
}
CHECKS = {
    "description": DESCRIPTION,
    "headers": HEADERS,
    "packets": PACKETS,
    "pictures": PICTURES,
    "timing": TIMING
}


def _is_cut(heard: Heard) -> bool:
    """The stream ends within a frame."""
    return 0 < len(heard.stream) - sum(4 + len(data) for _, data in heard.frames)
