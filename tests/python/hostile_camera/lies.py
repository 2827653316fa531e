"""All lies, by name."""

from hostile_camera import (lies_of_description, lies_of_headers, lies_of_packets, lies_of_pictures,
                            lies_of_timing)
from hostile_camera.lie import Lie

TABLES = {
    "description": lies_of_description.LIES,
    "headers": lies_of_headers.LIES,
    "packets": lies_of_packets.LIES,
    "pictures": lies_of_pictures.LIES,
    "timing": lies_of_timing.LIES,
}
LIES: dict[str, Lie] = {lie.name: lie for table in TABLES.values() for lie in table}
