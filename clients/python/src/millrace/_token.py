"""A client's token: its valid form, and its file.

gRPC's error for an invalid header repeats the header, so a token is checked before it is sent.
"""

import pathlib
import re
from collections.abc import Callable

from millrace._files import read_file

Token = str | Callable[[], str]

_LONGEST = 4096
# Valid text after "Bearer": RFC 6750.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
# A line of the server's own file: listen.tokens_file.
_LINE_OF_LIST = re.compile(rb"^[ \t]*(view|control)[ \t]", re.MULTILINE)


def _checked(token: str) -> str:
    """Returns the token. Raises ValueError if it is invalid; the message does not repeat it."""
    if not isinstance(token, str):
        raise ValueError(f"the token is of type {type(token).__name__}; it must be a str")
    if len(token) > _LONGEST:
        raise ValueError(f"the token is longer than {_LONGEST} characters: it is something else")
    if not _TOKEN.fullmatch(token):
        raise ValueError("the token has characters that no token has: it may have letters, digits "
                         "and - . _ ~ + / = alone; is it a whole file? token_file reads one")
    return token


def read_token(path: str | pathlib.Path) -> str:
    """The token in a file with one line. Raises OSError if the file cannot be read, and ValueError
    if it has no token; the message does not repeat its content."""
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
    """A function that returns the token for each call. Raises errors that are known in advance
    now."""
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
    """Advice for a refused or missing token; may be empty."""
    if path is not None:
        return f"it is that of token_file {path}"
    return "" if token else "name the file that holds one: Client(token_file=...)"


def _checked_if_any(token: str | None) -> str | None:
    return _checked(token) if token else None


def _fault_of(data: bytes) -> str:
    """Why the data is no token; empty if it is one."""
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
