"""A cable with a delay: passes each packet between two new network devices on after a time.

    packet_relay.py DEVICE DEVICE SECONDS

Says a line once both devices exist, and runs until it is killed. Needs root's rights in its namespace.
"""

import collections
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
TAP_WITHOUT_HEADER = 0x0002 | 0x1000
LARGEST = 65536


def device(name: str) -> int:
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), TAP_WITHOUT_HEADER))
    return tap


def relay(one: int, other: int, delay_s: float) -> None:
    opposite = {one: other, other: one}
    under_way: collections.deque = collections.deque()  # When each packet is due, where, and its bytes.
    while True:
        patience_s = max(0, under_way[0][0] - time.monotonic()) if under_way else None
        readable, _, _ = select.select([one, other], [], [], patience_s)
        for tap in readable:
            under_way.append((time.monotonic() + delay_s, opposite[tap], os.read(tap, LARGEST)))
        while under_way and under_way[0][0] <= time.monotonic():
            _, tap, packet = under_way.popleft()
            try:
                os.write(tap, packet)
            except OSError:  # The device is down: a cable loses packets.
                pass


def main() -> None:
    one, other, seconds = sys.argv[1:]
    taps = device(one), device(other)
    print("ready", flush=True)
    relay(*taps, float(seconds))


if __name__ == "__main__":
    main()
