"""Lies in RTSP's messages: status lines, headers, lengths, logins, redirects."""

import dataclasses
import functools
import itertools

from hostile_camera.conversation import (CONNECT, DESCRIBE, OPTIONS, PLAY, SETUP, Answer, Pause, Request,
                                         endlessly)
from hostile_camera.lie import Lie, at, header

_described = functools.partial(Lie, step=DESCRIBE)
# By every answer, the first among them.
_refused = functools.partial(Lie, step=OPTIONS, login="user:word")


def _status(line: str, step: str = DESCRIBE):
    return at(step, lambda answer: dataclasses.replace(answer, status=line))


def _after(step: str, *actions):
    """For Lie.answer: an honest answer, and then this."""
    return at(step, lambda answer: (answer.to_bytes(), *actions))


def _head_and(step: str, pieces):
    """For Lie.answer: the head of an answer goes on with what the function returns."""
    return at(step, lambda answer: itertools.chain([answer.head()], pieces()))


def _everywhere(change):
    """For Lie.answer: every answer is `change(request, answer)`."""
    return lambda request, answer: (change(request, answer).to_bytes(), )


def _twice(name: str, value: str):
    return at(DESCRIBE, lambda answer: dataclasses.replace(answer, headers=((name, value), *answer.headers)))


def _redirect(url, step: str = DESCRIBE):
    """For Lie.answer: the camera has moved to where `url` of its own says."""

    def answer(request: Request, honest: Answer):
        if request.method != step:
            return (honest.to_bytes(), )
        moved = Answer(headers=(("CSeq", request.cseq), ("Location", url(request.url))),
                       status="RTSP/1.0 302 Moved")
        return (moved.to_bytes(), )

    return answer


def _unauthorized(challenge):
    """For Lie.answer: no login is ever right; `challenge` of the number of the request."""

    def answer(request: Request, honest: Answer):
        del honest
        refused = Answer(headers=(("CSeq", request.cseq), ("WWW-Authenticate", challenge(request.number))),
                         status="RTSP/1.0 401 Unauthorized")
        return (refused.to_bytes(), )

    return answer


def _digest(number: int, stale: str = "") -> str:
    return f'Digest realm="camera", nonce="{number:032x}"{stale}'


def _asked_by_the_camera():
    for number in itertools.count():
        yield f"OPTIONS * RTSP/1.0\r\nCSeq: {number}\r\n\r\n".encode()
        yield Pause(0.001)


LIES = (
    # Ends that do not come.
    _described("header-without-end",
               "headers without end",
               answer=_head_and(DESCRIBE, lambda: endlessly(b"X-Header: " + b"x" * 100 + b"\r\n"))),
    _described("line-without-end",
               "a header line without end",
               answer=_head_and(DESCRIBE, lambda: itertools.chain([b"X-Header: "], endlessly(b"x" * 1000)))),
    _described("status-line-without-end",
               "a status line without end",
               answer=at(DESCRIBE, lambda _: itertools.chain([b"RTSP/1.0 200 "], endlessly(b"K" * 1000)))),
    _described("blank-lines-without-end",
               "blank lines without end",
               answer=at(DESCRIBE, lambda _: endlessly(b"\r\n" * 100))),
    _described("continue-without-end",
               "100 Continue without end",
               answer=at(DESCRIBE, lambda _: endlessly(b"RTSP/1.0 100 Continue\r\n\r\n"))),
    _described("zero-bytes-without-end",
               "zero bytes without end",
               answer=at(DESCRIBE, lambda _: endlessly(bytes(1000)))),
    Lie("options-line-without-end",
        "a header line without end, as the first answer",
        step=OPTIONS,
        answer=_head_and(OPTIONS, lambda: itertools.chain([b"Public: "], endlessly(b"x" * 1000)))),
    Lie("play-header-without-end",
        "headers without end, once it plays",
        answer=_head_and(PLAY, lambda: endlessly(b"X-Header: x\r\n"))),

    # Lengths.
    _described("content-length-negative", "a body of -1 bytes", answer=header("Content-Length", "-1")),
    _described("content-length-huge", "a body of two billion bytes", answer=header("Content-Length",
                                                                                   "2000000000")),
    _described("content-length-2-to-64",
               "a body of 2^64 bytes",
               answer=header("Content-Length", "18446744073709551616")),
    _described("content-length-text", "a body of many bytes", answer=header("Content-Length", "many")),
    _described("content-length-short",
               "a length that cuts the body in two",
               answer=at(DESCRIBE, lambda a: a.with_header("Content-Length", str(len(a.body) // 2)))),
    _described("content-length-long",
               "a body that ends before its length",
               answer=at(DESCRIBE, lambda a: a.with_header("Content-Length", str(len(a.body) + 1000)))),
    _described("content-length-zero", "a body where there should be none", answer=header("Content-Length", "0")),
    _described("content-length-missing",
               "a body without a length",
               answer=at(DESCRIBE, lambda a: a.without("Content-Length"))),
    _described("content-length-twice", "two lengths", answer=_twice("Content-Length", "7")),
    Lie("content-length-in-setup",
        "a body of a megabyte where none belongs",
        step=SETUP,
        answer=at(
            SETUP,
            lambda a: dataclasses.replace(a.with_header("Content-Length", "1000000"), body=b"x" * 1_000_000))),

    # Numbers and names of the session.
    _described("cseq-wrong", "answers to another question", answer=header("CSeq", "4711")),
    _described("cseq-negative", "a negative number", answer=header("CSeq", "-2147483649")),
    _described("cseq-missing", "answers without a number", answer=at(DESCRIBE, lambda a: a.without("CSeq"))),
    _described("cseq-twice", "answers with two numbers", answer=_twice("CSeq", "4711")),
    Lie("session-changes",
        "another session in each answer",
        answer=_everywhere(lambda request, a: a.with_header("Session", f"session{request.number}"))),
    Lie("session-missing", "no session", answer=_everywhere(lambda request, a: a.without("Session"))),
    Lie("session-huge",
        "a session's name of a megabyte",
        step=SETUP,
        answer=header("Session", "s" * 1_000_000, SETUP)),
    Lie("session-timeout-zero",
        "a session that ends after 0 seconds",
        answer=header("Session", "12345678;timeout=0", SETUP)),
    Lie("session-timeout-absurd",
        "a session that ends after -99999999999 seconds",
        answer=header("Session", "12345678;timeout=-99999999999", SETUP)),

    # Headers.
    _described("headers-1000",
               "a thousand headers",
               answer=at(DESCRIBE,
                         lambda a: dataclasses.replace(a, headers=a.headers + (("X-Header", "x"), ) * 1000))),
    _described("header-huge", "a header of four megabytes", answer=header("X-Header", "x" * 4_000_000)),
    _described("header-without-colon",
               "a header without a colon",
               answer=at(DESCRIBE, lambda a: (a.head() + b"no colon here\r\n\r\n" + a.body, ))),
    _described("header-binary", "headers of arbitrary bytes", answer=header("X-\xff\xfe", "\x01\x80\xff")),
    _described("header-zero-byte", "a zero byte in a header", answer=header("X-Header", "a\0b")),
    _described("header-folded-1000",
               "a header that is folded a thousand times",
               answer=header("X-Header", "x" + "\r\n x" * 1000)),
    _described("line-feeds-only",
               "lines that end with LF",
               answer=at(DESCRIBE, lambda a: (a.to_bytes().replace(b"\r\n", b"\n"), ))),
    _described("carriage-returns-only",
               "lines that end with CR",
               answer=at(DESCRIBE, lambda a: (a.head().replace(b"\r\n", b"\r") + b"\r" + a.body, Pause()))),
    _described("content-type-wrong", "a web page", answer=header("Content-Type", "text/html")),
    _described("content-base-absurd", "a base that is no URL", answer=header("Content-Base", "://%%%[[[")),
    Lie("public-nothing", "a camera that can do nothing", step=OPTIONS, answer=header("Public", "", OPTIONS)),
    Lie("transport-missing", "no transport", step=SETUP, answer=at(SETUP, lambda a: a.without("Transport"))),
    Lie("transport-channels-absurd",
        "channels beyond 255",
        step=SETUP,
        answer=header("Transport", "RTP/AVP/TCP;unicast;interleaved=300-70000", SETUP)),
    Lie("transport-channels-negative",
        "channels below 0",
        step=SETUP,
        answer=header("Transport", "RTP/AVP/TCP;unicast;interleaved=-5--1", SETUP)),
    Lie("transport-udp",
        "UDP, which nobody asked for",
        step=SETUP,
        answer=header("Transport", "RTP/AVP;unicast;client_port=1-2;server_port=3-4;source=127.0.0.2", SETUP)),
    Lie("transport-multicast",
        "multicast, which nobody asked for",
        step=SETUP,
        answer=header("Transport", "RTP/AVP;multicast;destination=239.1.2.3;port=5000-5001;ttl=255", SETUP)),
    Lie("transport-garbage",
        "a transport that is garbage",
        step=SETUP,
        answer=header("Transport", ";;;=;\x01RTP///;;interleaved=;" + "x" * 1000, SETUP)),
    Lie("rtp-info-garbage",
        "numbers of packets that are garbage",
        answer=header("RTP-Info", "url=;seq=-1;rtptime=99999999999999999999,,,;", PLAY)),
    Lie("range-absurd", "plays from -10^300 to 10^300", answer=header("Range", "npt=-1e300-1e300", PLAY)),
    Lie("scale-zero",
        "plays at speed 0, and nan",
        answer=at(PLAY, lambda a: a.with_header("Scale", "0").with_header("Speed", "nan"))),

    # Status lines.
    _described("status-garbage", "a status line that is garbage", answer=_status("\x01\x02\xff garbage")),
    _described("status-999", "status 999", answer=_status("RTSP/1.0 999 Beyond")),
    _described("status-negative", "status -200", answer=_status("RTSP/1.0 -200 OK")),
    _described("status-without-code", "a status line without a code", answer=_status("RTSP/1.0")),
    _described("status-http", "HTTP", answer=_status("HTTP/1.1 200 OK")),
    _described("status-version-9", "RTSP of version 9.9", answer=_status("RTSP/9.9 200 OK")),
    Lie("status-setup-461",
        "no transport suits",
        step=SETUP,
        answer=_status("RTSP/1.0 461 Unsupported Transport", SETUP)),
    Lie("status-play-454", "a session that is not found", answer=_status("RTSP/1.0 454 Session Not Found", PLAY)),

    # Who sends: order and sides of messages.
    Lie("speaks-first",
        "answers before it is asked",
        step=CONNECT,
        greeting=lambda: (b"RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n" * 10, )),
    Lie("greets-by-garbage",
        "garbage before it is asked",
        step=CONNECT,
        greeting=lambda: (bytes(range(256)) * 256, )),
    _described("answers-twice", "every answer twice", answer=lambda request, a: (a.to_bytes() * 2, )),
    _described("asks-without-end",
               "questions of its own without end",
               answer=_after(DESCRIBE, *itertools.islice(_asked_by_the_camera(), 4000))),
    _described(
        "announces-another",
        "a description of its own accord",
        answer=_after(
            DESCRIBE,
            b"ANNOUNCE * RTSP/1.0\r\nCSeq: 9\r\nContent-Type: application/sdp\r\nContent-Length: 3\r\n\r\nv=0")),
    _described("sends-on-redirect",
               "REDIRECT of its own accord",
               answer=_after(DESCRIBE,
                             b"REDIRECT * RTSP/1.0\r\nCSeq: 9\r\nLocation: rtsp://127.0.0.2:1/\r\n\r\n")),

    # Logins and redirects.
    _refused("unauthorized-for-ever",
             "401 for ever, Basic",
             answer=_unauthorized(lambda number: 'Basic realm="camera"')),
    _refused("nonce-changes-for-ever", "401 for ever, Digest with another nonce", answer=_unauthorized(_digest)),
    _refused("nonce-stale-for-ever",
             "401 for ever, Digest whose nonce is always stale",
             answer=_unauthorized(lambda number: _digest(number, ", stale=true"))),
    _refused("digest-garbage",
             "401 with a challenge that is garbage",
             answer=_unauthorized(lambda number: 'Digest realm="a, nonce=,,=\x01, qop="auth')),
    _refused("digest-huge",
             "401 with a nonce of a megabyte",
             answer=_unauthorized(lambda number: 'Digest realm="a", nonce="' + "n" * 1_000_000 + '"')),
    _refused("challenges-1000",
             "401 with a thousand challenges",
             answer=_unauthorized(lambda number: ", ".join(['Basic realm="a"'] * 1000))),
    _described("redirect-to-itself", "moved to where it is", answer=_redirect(lambda url: url)),
    _described("redirect-further", "moved further with each request", answer=_redirect(lambda url: url + "x")),
    _described("redirect-elsewhere",
               "moved to another host",
               answer=_redirect(lambda url: "rtsp://127.0.0.2:1/live")),
    _described("redirect-to-file", "moved to a file", answer=_redirect(lambda url: "file:///dev/zero")),
    _described("redirect-without-place", "moved, and not where", answer=_status("RTSP/1.0 302 Moved")),
    _described("redirect-place-huge",
               "moved to a URL of a megabyte",
               answer=_redirect(lambda url: url + "/" + "x" * 1_000_000)),
    Lie("redirect-play", "moved, once it is to play", answer=_redirect(lambda url: url, PLAY)),
)
