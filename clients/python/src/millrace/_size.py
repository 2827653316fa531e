"""Width and height."""

from typing import NamedTuple


class Size(NamedTuple):
    """The size of a picture in pixels, or of a grid in cells."""

    width: int
    height: int
