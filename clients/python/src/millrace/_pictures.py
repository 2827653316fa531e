"""Pictures that a program sends to the server."""

from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.v1 import picture_pb2

# Pixels, uint8, of shape [height, width, 3] (red, green, blue) or [height, width] (grey); or the
# bytes of a JPEG or PNG image.
Picture = npt.NDArray[np.uint8] | bytes


def put_picture(picture: Picture, message: Any) -> None:
    """Writes a picture into a message with the fields `raw` and `image`. Raises ValueError if it is
    invalid."""
    if isinstance(picture, (bytes, bytearray, memoryview)):
        message.image = bytes(picture)
    else:
        message.raw.CopyFrom(_raw(picture))


def _raw(pixels: npt.NDArray[np.uint8]) -> picture_pb2.RawPicture:
    pixels = np.asarray(pixels)
    colour = pixels.ndim == 3 and pixels.shape[2] == 3
    if pixels.dtype != np.uint8 or not (colour or pixels.ndim == 2):
        raise ValueError(f"a picture is uint8 of shape [height, width, 3] or [height, width], not "
                         f"{pixels.dtype} of shape {list(pixels.shape)}")
    return picture_pb2.RawPicture(
        format=picture_pb2.PIXEL_FORMAT_RGB if colour else picture_pb2.PIXEL_FORMAT_GRAY8,
        height=pixels.shape[0], width=pixels.shape[1], data=pixels.tobytes())
