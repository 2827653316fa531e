"""Common parts of all messages: enums that may grow, times that may be absent."""

import datetime
import enum
import math
from typing import Any, Self, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

_Kind = TypeVar("_Kind", bound=Message)


class WireEnum(enum.IntEnum):
    """An enum of the protos, printed by its name. A number that this client does not know becomes
    UNSPECIFIED."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        return cls(0) if isinstance(value, int) and value != 0 else None


def time_of(message: Message, field: str) -> datetime.datetime | None:
    """A moment in UTC, truncated to microseconds. None if it is absent."""
    value = _get(message, field, Timestamp)
    return None if value is None else value.ToDatetime(tzinfo=datetime.UTC)


def duration_of(message: Message, field: str) -> datetime.timedelta | None:
    """A duration, truncated to microseconds. None if it is absent."""
    value = _get(message, field, Duration)
    return None if value is None else value.ToTimedelta()


def plain(value: Any) -> Any:
    """Converts integral floats to int: a Struct, the value's origin, has only floats."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _get(message: Message, field: str, kind: type[_Kind]) -> _Kind | None:
    if not message.HasField(field):
        return None
    value = getattr(message, field)
    assert isinstance(value, kind)
    return value


def explained_share(loss: float, loss_no_motion: float) -> str:
    """The text "explains 26 % of the motion". Empty if there is no no-motion loss, or a loss is not
    finite."""
    percent = 100 * (1 - loss / loss_no_motion) if loss_no_motion > 0 else math.nan
    if not math.isfinite(percent):
        return ""
    share = f"{round(percent)} %" if round(percent) >= 0 else "none"
    return f"explains {share} of the motion"
