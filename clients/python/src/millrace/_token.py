"""The token that a client shows: what it may look like, and how a file holds one.

gRPC refuses a header that it cannot send in words that repeat it, so a token is checked before.
"""

import pathlib
import re
from collections.abc import Callable

from millrace._files import read_file

Token = str | Callable[[], str]

_LONGEST = 4096
# What may follow "Bearer": RFC 6750.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
# A line of the server's file: listen.tokens_file.
_LINE_OF_LIST = re.compile(rb"^[ \t]*(view|control)[ \t]", re.MULTILINE)


def _checked(token: str) -> str:
    """The token. Raises ValueError, in words that do not repeat it, where it is none."""
    if not isinstance(token, str):
        raise ValueError(f"the token is of type {type(token).__name__}; it must be a str")
    if len(token) > _LONGEST:
        raise ValueError(f"the token is longer than {_LONGEST} characters: it is something else")
    if not _TOKEN.fullmatch(token):
        raise ValueError("the token has characters that no token has: it may have letters, digits "
                         "and - . _ ~ + / = alone; is it a whole file? token_file reads one")
    return token


def read_token(path: str | pathlib.Path) -> str:
    """The token that a file holds, on one line with nothing else. Raises OSError where it cannot
    be read, and ValueError, in words that do not repeat what it holds, where it holds no token."""
    try:
        data = read_file(path).strip()
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, "token_file: there is no such file",
                                str(path)) from None
    wrong = _fault_of(data)
    if wrong:
        raise ValueError(f"{path} {wrong}; give a file with one token alone")
    return data.decode("ascii")


def source_of(token: Token | None, path: str | pathlib.Path | None) -> Callable[[], str | None]:
    """Where the token of each call comes from. What is wrong from the start is raised now."""
    if path is not None:
        if token is not None:
            raise ValueError("token and token_file are given; leave one of them out")
        read_token(path)
        return lambda: read_token(path)
    if not callable(token):
        said = _checked_if_any(token)
        return lambda: said
    return lambda: _checked_if_any(token())


def advice_on(token: Token | None, path: str | pathlib.Path | None) -> str:
    """What to say where a server refuses the token, or wants one. Empty: nothing."""
    if path is not None:
        return f"it is that of token_file {path}"
    return "" if token else "name the file that holds one: Client(token_file=...)"


def _checked_if_any(token: str | None) -> str | None:
    return _checked(token) if token else None


def _fault_of(data: bytes) -> str:
    """What keeps it from being a token. Empty: nothing does."""
    if not data:
        return "is empty"
    if _LINE_OF_LIST.search(data.replace(b"\r", b"\n")):
        return "is a server's list of tokens"
    if b"-----BEGIN " in data:
        return "is a file in PEM"
    if b"\n" in data or b"\r" in data:
        return "has several lines"
    if len(data) > _LONGEST:
        return "holds more than a token"
    if not _TOKEN.fullmatch(data.decode("latin-1")):
        return ("holds characters that no token has (it may have letters, digits and "
                "- . _ ~ + / =)")
    return ""
