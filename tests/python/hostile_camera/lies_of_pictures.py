"""Lies in the video itself: the packing and the content of H.264, H.265 and JPEG."""

import dataclasses
import functools
import itertools
import random
import re
import struct

from hostile_camera import bits, material, rtp
from hostile_camera.conversation import Pause
from hostile_camera.lie import Lie, Packets, Pictures, each_packet, each_picture
from hostile_camera.material import RATE, is_picture, kind
from hostile_camera.rtp import Packet

_h265 = functools.partial(Lie, codec="h265")
_jpeg = functools.partial(Lie, codec="jpeg")

_SIZES = ((64, 64), (128, 64), (64, 128), (320, 240), (1280, 720))
_BIG = bytes(1) + random.Random(1).randbytes(999)
# NAL unit headers and the first bytes of a slice of an IDR picture.
_H264_IDR, _H265_IDR = b"\x65\x88", b"\x26\x01\xaf"
_FU_A = 28
_H264_SPS, _H264_PPS = 7, 8
_VPS, _SPS, _PPS = 32, 33, 34


def _payload(change):
    """For Lie.packets: `change(payload, number)` is the payload."""
    return each_packet(lambda packet, number: dataclasses.replace(packet, payload=change(packet.payload, number)))


def _next(packets: Packets) -> Packet:
    """What an honest camera would send. There is none of JPEG."""
    return next((item for item in packets if isinstance(item, Packet)), Packet(b"", 0, 0))


def _only(*payloads: bytes):
    """For Lie.packets: each picture is these."""

    def told(packets: Packets) -> Packets:
        first = _next(packets)
        numbers = itertools.count(first.sequence)
        for picture in itertools.count():
            timestamp = first.timestamp + picture * rtp.CLOCK // RATE
            for payload in payloads:
                yield Packet(payload, next(numbers), timestamp, payload is payloads[-1])
            yield Pause(1 / RATE)

    return told


def _without(codec: str, *kinds: int):
    return each_picture(lambda picture, _: (unit for unit in picture if kind(codec, unit) not in kinds))


def _with_sps(codec: str, sps: bytes):
    """For Lie.pictures: this in place of the sequence's parameter set."""
    number = _H264_SPS if codec == "h264" else _SPS
    return each_picture(lambda picture, _: (sps if kind(codec, unit) == number else unit for unit in picture))


def _slices(codec: str, change):
    """For Lie.pictures: `change(unit, number of the picture)` in place of each slice."""
    return each_picture(lambda picture, number:
                        (change(unit, number) if is_picture(codec, unit) else unit for unit in picture))


def _before_each(*units: bytes):
    return each_picture(lambda picture, _: (*units, *picture))


def _damaged(unit: bytes, number: int) -> bytes:
    """A bit in sixteen bytes is another."""
    spoiled = bytearray(unit)
    for at in range(4, len(unit), 16):
        spoiled[at] ^= 1 << (number + at) % 8
    return bytes(spoiled)


def _randomized(header: int):
    return lambda unit, number: unit[:header] + random.Random(number).randbytes(max(len(unit), 200))


def _of_sizes(codec: str):
    """For Lie.pictures: a key frame each, of another size each."""

    def told(pictures: Pictures) -> Pictures:
        del pictures
        return (material.access_units(codec, size)[0] for size in itertools.cycle(_SIZES))

    return told


def _never_key(codec: str):
    """For Lie.pictures: the first key frame is never shown, nor is any other."""
    sets = material.parameter_sets

    def told(pictures: Pictures) -> Pictures:
        others = (picture for picture in pictures if len(picture) == 1)
        return (((*sets(codec), *picture) if number == 0 else picture) for number, picture in enumerate(others))

    return told


def _as_fragments(codec: str, flags):
    """For Lie.packets: every packet is one fragment; `flags(number)`: whether it starts and ends a unit."""

    def change(payload: bytes, number: int) -> bytes:
        start, end = flags(number)
        header = 1 if codec == "h264" else 2
        return rtp.fragment_header(codec, payload[:2], start, end) + payload[header:]

    return _payload(change)


def _without_end(codec: str, header: bytes):
    """For Lie.packets: one unit with fragments without end."""

    def told(packets: Packets) -> Packets:
        first = _next(packets)
        for number in itertools.count():
            fragment = rtp.fragment_header(codec, header, start=number == 0, end=False) + _BIG
            yield Packet(fragment, first.sequence + number, first.timestamp)
            if number % 100 == 99:  # Two and a half megabytes a second.
                yield Pause(1 / RATE)

    return told


def _without_sprop(sdp: str) -> bytes:
    """For Lie.sdp: else the parameter sets are known from there."""
    return re.sub("sprop-[^=]*=[^;\r]*", "x=y", sdp).encode()


def _jpeg_header(offset: int = 0, kind_of: int = 1, quality: int = 50, width: int = 8, height: int = 8) -> bytes:
    """RFC 2435; sizes in blocks of 8 pixels."""
    return struct.pack("!IBBBB", offset & 0xFFFFFF, kind_of, quality, width, height)


LIES = (
    # H.264 in packets.
    Lie("fu-without-end",
        "fragments of which none is the last",
        packets=_as_fragments("h264", lambda n: (n % 20 == 0, False))),
    Lie("fu-without-start",
        "fragments of which none is the first",
        packets=_as_fragments("h264", lambda n: (False, n % 20 == 19))),
    Lie("fu-all-in-one",
        "fragments that are first and last",
        packets=_as_fragments("h264", lambda n: (True, True))),
    Lie("fu-all-starts",
        "fragments that are all the first",
        packets=_as_fragments("h264", lambda n: (True, False))),
    Lie("fu-of-nothing", "fragments of no bytes", packets=_only(*[bytes([0x7C, 0x85])] * 50)),
    Lie("fu-header-cut", "fragments that end within their header", packets=_only(b"\x7c")),
    Lie("fu-of-fu",
        "fragments of a fragment",
        packets=_only(bytes([0x7C, 0x80 | _FU_A]) + _BIG,
                      bytes([0x7C, 0x40 | _FU_A]) + _BIG)),
    Lie("unit-without-end", "a unit whose fragments go on for ever", packets=_without_end("h264", _H264_IDR)),
    Lie("stap-longer",
        "units longer than the packet that they are in",
        packets=_only(bytes([0x78, 0xFF, 0xFF]) + _BIG)),
    Lie("stap-of-nothing", "a hundred units of no bytes in a packet", packets=_only(bytes([0x78]) + bytes(200))),
    Lie("stap-header-cut", "a packet that ends within a unit's length", packets=_only(bytes([0x78, 0x00]))),
    Lie("stap-in-stap", "packets in packets", packets=_only(bytes([0x78, 0x00, 0x04, 0x78, 0x00, 0x01, 0x65]))),
    Lie("mtap", "packets of a kind that nobody sends", packets=_payload(lambda p, _: bytes([26, 0, 0]) + p)),
    Lie("nal-reserved",
        "units of reserved types",
        pictures=_slices("h264", lambda unit, n: bytes([0x60 | (16, 17, 18, 22, 23)[n % 5]]) + unit[1:])),
    Lie("nal-type-zero",
        "units of type 0, 30 and 31",
        packets=_payload(lambda p, n: bytes([0x60 | (0, 30, 31)[n % 3]]) + p[1:])),
    Lie("nal-forbidden",
        "units with the bit that is forbidden",
        packets=_payload(lambda p, _: bytes([p[0] | 0x80]) + p[1:])),
    Lie("nal-of-one-byte", "slices of one byte", pictures=_slices("h264", lambda unit, _: unit[:1])),
    Lie("nal-start-codes",
        "start codes within units",
        pictures=_slices("h264", lambda unit, _: unit[:4] + b"\0\0\1\x67\0\0\0\1\x68" + unit[4:])),

    # What is in them.
    Lie("sps-missing", "no sequence parameter set", pictures=_without("h264", _H264_SPS), sdp=_without_sprop),
    Lie("pps-missing", "no picture parameter set", pictures=_without("h264", _H264_PPS), sdp=_without_sprop),
    Lie("slices-only",
        "no parameter set at all",
        pictures=_without("h264", _H264_SPS, _H264_PPS),
        sdp=_without_sprop),
    Lie("sets-only",
        "parameter sets and no slice",
        pictures=each_picture(lambda picture, _: material.parameter_sets("h264"))),
    Lie("key-frame-never", "no key frame", pictures=_never_key("h264")),
    Lie("sps-16384", "pictures of 16384x16384", pictures=_with_sps("h264", bits.h264_sps(1024, 1024))),
    Lie("sps-8k", "pictures of 8192x4320", pictures=_with_sps("h264", bits.h264_sps(512, 270))),
    Lie("sps-1000000", "pictures of a million pixels' width", pictures=_with_sps("h264", bits.h264_sps(62500, 1))),
    Lie("sps-zero",
        "pictures of 0x0, by cropping",
        pictures=_with_sps("h264", bits.h264_sps(4, 4, crop=(16, 16, 16, 16)))),
    Lie("sps-crop-beyond",
        "pictures that are cropped beyond their edges",
        pictures=_with_sps("h264", bits.h264_sps(4, 4, crop=(5000, 5000, 5000, 5000)))),
    Lie("sps-cut", "a sequence parameter set that is cut", pictures=_with_sps("h264",
                                                                              bits.h264_sps(4, 4)[:5])),
    Lie("sps-random",
        "a sequence parameter set of random bytes",
        pictures=_with_sps("h264", b"\x67" + random.Random(3).randbytes(60))),
    Lie("sps-references-65535",
        "65,535 reference pictures",
        pictures=_with_sps("h264", bits.h264_sps(4, 4, reference_frames=65535))),
    Lie("sps-1000",
        "a thousand parameter sets before each picture",
        pictures=_before_each(*(bits.h264_sps(4 + n % 50, 4, sps_id=n % 32) for n in range(1000)))),
    Lie("size-each-frame", "pictures of another size each", pictures=_of_sizes("h264")),
    Lie("slice-random", "slices of random bytes", pictures=_slices("h264", _randomized(4))),
    Lie("slice-damaged", "slices with wrong bits", pictures=_slices("h264", _damaged)),
    Lie("slice-cut", "slices that are cut in two", pictures=_slices("h264",
                                                                    lambda unit, _: unit[:len(unit) // 2])),
    Lie("slice-twice", "every picture twice", pictures=each_picture(lambda picture, _: picture * 2)),
    Lie("slices-1000",
        "a thousand slices a picture",
        pictures=each_picture(lambda picture, _: (*picture, *[picture[-1][:40]] * 1000))),
    Lie("sei-huge",
        "a message of a megabyte before each picture",
        pictures=_before_each(b"\x06\xff\xff\xff" + b"\xff" * 4000 + bytes([7]) + b"\x55" * 1_000_000)),
    Lie("delimiters-1000",
        "a thousand delimiters before each picture",
        pictures=_before_each(*[b"\x09\xf0"] * 1000)),
    Lie("end-of-stream-each",
        "the end of the stream after each picture",
        pictures=each_picture(lambda picture, _: (*picture, b"\x0a", b"\x0b"))),

    # H.265.
    _h265("h265-fu-without-end",
          "fragments of which none is the last",
          packets=_as_fragments("h265", lambda n: (n % 20 == 0, False))),
    _h265("h265-fu-without-start",
          "fragments of which none is the first",
          packets=_as_fragments("h265", lambda n: (False, n % 20 == 19))),
    _h265("h265-unit-without-end",
          "a unit whose fragments go on for ever",
          packets=_without_end("h265", _H265_IDR)),
    _h265("h265-ap-longer",
          "units longer than the packet that they are in",
          packets=_only(bytes([0x60, 0x01, 0xFF, 0xFF]) + _BIG)),
    _h265("h265-header-cut", "units of one byte", packets=_only(b"\x26")),
    _h265("h265-reserved",
          "units of reserved types",
          packets=_payload(lambda p, n: bytes([(41 + n % 7) << 1]) + p[1:])),
    _h265("h265-paci",
          "packets of a kind that nobody sends",
          packets=_payload(lambda p, _: bytes([50 << 1, 1, 0xFF, 0xFF]) + p)),
    _h265("h265-sets-missing",
          "no parameter set at all",
          pictures=_without("h265", _VPS, _SPS, _PPS),
          sdp=_without_sprop),
    _h265("h265-sps-16384", "pictures of 16384x16384", pictures=_with_sps("h265", bits.h265_sps(16384, 16384))),
    _h265("h265-sps-zero", "pictures of 0x0", pictures=_with_sps("h265", bits.h265_sps(0, 0))),
    _h265("h265-sps-random",
          "a sequence parameter set of random bytes",
          pictures=_with_sps("h265", b"\x42\x01" + random.Random(3).randbytes(60))),
    _h265("h265-size-each-frame", "pictures of another size each", pictures=_of_sizes("h265")),
    _h265("h265-slice-random", "slices of random bytes", pictures=_slices("h265", _randomized(5))),
    _h265("h265-slice-damaged", "slices with wrong bits", pictures=_slices("h265", _damaged)),

    # JPEG.
    _jpeg("jpeg-zero", "pictures of 0x0", packets=_only(_jpeg_header(width=0, height=0) + _BIG)),
    _jpeg("jpeg-offset-far",
          "parts that lie 16 megabytes apart",
          packets=_only(_jpeg_header() + _BIG,
                        _jpeg_header(offset=-1) + _BIG)),
    _jpeg("jpeg-type-255", "a type that does not exist", packets=_only(_jpeg_header(kind_of=255) + _BIG)),
    _jpeg("jpeg-tables-long",
          "tables longer than their packet",
          packets=_only(_jpeg_header(quality=255) + b"\0\0\xff\xff" + _BIG)),
    _jpeg("jpeg-random", "pictures of random bytes", packets=_only(_jpeg_header() + _BIG)),
    _jpeg("jpeg-header-cut", "packets that end within their header", packets=_only(_jpeg_header()[:5])),
)
