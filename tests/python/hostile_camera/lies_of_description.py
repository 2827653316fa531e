"""Lies in the answer to DESCRIBE (SDP)."""

import functools
import random
import re

from hostile_camera.conversation import DESCRIBE
from hostile_camera.lie import Lie

_told = functools.partial(Lie, step=DESCRIBE)


def _lines(pattern: str, put: str, count: int = 1):
    """For Lie.sdp: replaces the one match of `pattern` by `count` copies of `put`."""

    def changed(sdp: str) -> bytes:
        changed, times = re.subn(pattern, lambda _: put * count, sdp, flags=re.MULTILINE)
        assert times == 1, f"{pattern!r} is {times} times in the description"
        return changed.encode()

    return changed


def _more(*lines: str):
    return lambda sdp: (sdp + "".join(f"{line}\r\n" for line in lines)).encode()


def _media(count: int):

    def changed(sdp: str) -> bytes:
        head, media = sdp[:sdp.index("m=")], sdp[sdp.index("m="):]
        return (head + "".join(media.replace("track1", f"track{i}") for i in range(1, count + 1))).encode()

    return changed


_MEDIA = r"^m=video 0 RTP/AVP 96"
_RTPMAP = r"^a=rtpmap:96 H264/90000"
_FMTP = r"^a=fmtp:96 .*"
_SPROP = r"sprop-parameter-sets=.*"
_CONTROL = r"^a=control:track1"

LIES = (
    _told("sdp-empty", "a description of no bytes", sdp=lambda sdp: b""),
    _told("sdp-no-media", "a description without media", sdp=lambda sdp: sdp[:sdp.index("m=")].encode()),
    _told("sdp-media-1000", "a thousand videos", sdp=_media(1000)),
    _told("sdp-media-twice", "two videos under one name", sdp=lambda sdp: (sdp + sdp[sdp.index("m="):]).encode()),
    _told("sdp-not-utf8",
          "names that are no UTF-8",
          sdp=lambda sdp: sdp.encode().replace(b"s=camera", b"s=\xff\xfe\xc3\x28")),
    _told("sdp-zero-bytes",
          "zero bytes in place of line breaks",
          sdp=lambda sdp: sdp.replace("\r\n", "\0").encode()),
    _told("sdp-garbage", "random bytes", sdp=lambda sdp: random.Random(1).randbytes(len(sdp))),
    _told("sdp-huge", "ten megabytes of attributes", sdp=_more(*["a=x:" + "y" * 95] * 100_000)),
    _told("sdp-line-huge", "one line of four megabytes", sdp=_more("a=x:" + "y" * 4_000_000)),
    _told("sdp-lines-100000", "a hundred thousand lines of two characters", sdp=_more(*["a="] * 100_000)),
    _told("sdp-size-absurd",
          "pictures of 99999x99999 at a billion a second",
          sdp=_more("a=framesize:96 99999-99999", "a=x-dimensions:99999,99999", "a=framerate:1000000000")),
    _told("sdp-framerate-negative", "-25 pictures a second", sdp=_more("a=framerate:-25")),
    _told("sdp-fmtp-of-another",
          "parameters of a payload type that is not there",
          sdp=_lines(r"^a=fmtp:96", "a=fmtp:77")),
    _told("sdp-mode-9",
          "a packetization mode that does not exist",
          sdp=_lines("packetization-mode=1", "packetization-mode=9")),
    _told("sdp-sprop-no-base64",
          "parameter sets that are no Base64",
          sdp=_lines(_SPROP, "sprop-parameter-sets=!!%%,,,;=")),
    _told("sdp-sprop-random",
          "parameter sets of random bytes",
          sdp=_lines(_SPROP, "sprop-parameter-sets=Z9j1pQ7xk3Lr/QaZ,aP8fRz==")),
    _told("sdp-sprop-empty", "empty parameter sets", sdp=_lines(_SPROP, "sprop-parameter-sets=,,,,")),
    _told("sdp-sprop-huge",
          "parameter sets of three megabytes",
          sdp=_lines(_SPROP, "sprop-parameter-sets=Z0LAHtoF" + "AAAA" * 1_000_000)),
    _told("sdp-sprop-1000",
          "a thousand parameter sets",
          sdp=_lines(_SPROP, "sprop-parameter-sets=" + "Z0LAHtoF," * 1000)),
    _told("sdp-payload-type-200", "a payload type beyond 127", sdp=_lines(_MEDIA, "m=video 0 RTP/AVP 200")),
    _told("sdp-payload-types-1000",
          "a thousand payload types",
          sdp=_lines(_MEDIA, "m=video 0 RTP/AVP" + " 96" * 1000)),
    _told("sdp-clock-zero", "a clock that stands", sdp=_lines(_RTPMAP, "a=rtpmap:96 H264/0")),
    _told("sdp-clock-huge", "a clock of 4294967295999 Hz", sdp=_lines(_RTPMAP, "a=rtpmap:96 H264/4294967295999")),
    _told("sdp-clock-negative", "a clock of -90000 Hz", sdp=_lines(_RTPMAP, "a=rtpmap:96 H264/-90000")),
    _told("sdp-rtpmap-missing",
          "a dynamic payload type that is nowhere explained",
          sdp=_lines(_RTPMAP + "\r\n", "")),
    _told("sdp-codec-unknown", "a codec that does not exist", sdp=_lines(_RTPMAP, "a=rtpmap:96 SNAKEOIL/90000")),
    _told("sdp-codec-of-another", "H.265, where H.264 is sent", sdp=_lines(_RTPMAP, "a=rtpmap:96 H265/90000")),
    _told("sdp-audio-only",
          "sound without a picture",
          sdp=_lines(_MEDIA + "\r\n" + _RTPMAP[1:] + "\r\n" + _FMTP[1:] + "\r\n", "m=audio 0 RTP/AVP 8\r\n")),
    _told("sdp-control-elsewhere",
          "a control URL of another host",
          sdp=_lines(_CONTROL, "a=control:rtsp://127.0.0.2:1/track1")),
    _told("sdp-control-long",
          "a control URL of a hundred kilobytes",
          sdp=_lines(_CONTROL, "a=control:" + "x" * 100_000)),
    _told("sdp-control-file",
          "a control URL of another scheme",
          sdp=_lines(_CONTROL, "a=control:file:///dev/zero")),
    _told("sdp-port-negative", "a negative port", sdp=_lines(_MEDIA, "m=video -1/-1 RTP/AVP 96")),
    _told("sdp-transport-unknown",
          "a transport that does not exist",
          sdp=_lines(_MEDIA, "m=video 0 CARRIER/PIGEON 96")),
    _told("sdp-range-absurd",
          "a length of ten to the 300 seconds",
          sdp=_lines(r"^a=range:npt=now-", "a=range:npt=-1e300-1e300")),
    _told("sdp-address-absurd",
          "an address that is none",
          sdp=_lines(r"^c=IN IP4 0.0.0.0", "c=IN IP4 999.999.999.999/999/999")),
    _told("sdp-multicast", "pictures by multicast", sdp=_lines(r"^c=IN IP4 0.0.0.0", "c=IN IP4 239.1.2.3/127")),
    _told("sdp-ssrc-1000",
          "a thousand synchronization sources",
          sdp=_more(*[f"a=ssrc:{i} cname:x{i}" for i in range(1000)])),
    _told("sdp-key-mgmt-garbage",
          "keys for encryption that are garbage",
          sdp=_more("a=key-mgmt:mikey AAAAAAAAAAAA//8=")),
    _told("sdp-srtp", "encryption without a key", sdp=_lines(_MEDIA, "m=video 0 RTP/SAVP 96")),
    _told("sdp-extmap-garbage",
          "header extensions that are garbage",
          sdp=_more("a=extmap:99999 urn:x", "a=extmap:-1 \0", "a=extmap:")),
    _told("sdp-rtcp-fb-garbage",
          "feedback that is garbage",
          sdp=_more(*["a=rtcp-fb:* nack pli ccm" + " x" * 500] * 100)),
    _told("sdp-version-absurd", "a description of version 99999999999", sdp=_lines("^v=0", "v=99999999999")),
)
