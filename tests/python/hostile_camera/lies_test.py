"""Every camera tells the lie of its name: a client receives it over a real connection, and checks it.

Each check fails on an honest camera's data.
"""

import asyncio
import dataclasses
import itertools
import subprocess
import sys
import unittest

from hostile_camera import material
from hostile_camera.camera import Camera
from hostile_camera.conversation import PLAY
from hostile_camera.heard import Heard, listen
from hostile_camera.lie import HONEST, Lie
from hostile_camera.lie_checks import CHECKS
from hostile_camera.lies import LIES, TABLES

# Bytes, where other than of the rest.
HEARD = {
    "byte-a-second": 3000,
    "sdp-huge": 12_000_000,
    "sdp-line-huge": 5_000_000,
    "sdp-lines-100000": 500_000,
    "sdp-sprop-huge": 5_000_000,
    "header-huge": 5_000_000,
    "content-length-in-setup": 1_100_000,
    "session-huge": 1_100_000,
    "digest-huge": 2_100_000,
    "redirect-place-huge": 1_100_000,
    "sei-huge": 3_000_000,
    "burst-of-1000": 2_000_000
}


def hear(lie: Lie, max_bytes: int = 300_000) -> tuple[Heard, int]:
    return asyncio.run(listen(lie, max_bytes))


class LiesTest(unittest.TestCase):

    def test_every_lie_is_checked(self):
        self.assertGreaterEqual(len(LIES), 70)
        for name, table in TABLES.items():
            # Of one thing a client cannot tell: OnTheWireTest.
            self.assertEqual({lie.name
                              for lie in table},
                             CHECKS[name].keys() | ({"frame-in-pieces"} if name == "packets" else set()))

    def test_every_lie_is_told_as_its_name_says(self):
        honest = {codec: hear(Lie("honest", "", codec=codec))[0] for codec in ("h264", "h265")}
        honest["jpeg"] = honest["h264"]
        for table in CHECKS.values():
            for name, check in table.items():
                with self.subTest(name):
                    heard, told = hear(LIES[name], HEARD.get(name, 300_000))
                    self.assertGreaterEqual(told, 1)
                    self.assertTrue(check(heard), f"{heard.raw[:2000]!r}, {heard.pauses[:20]}, {heard.end}")
                    with self.subTest(name, camera="honest"):
                        self.assertFalse(check(honest[LIES[name].codec]))


class OnTheWireTest(unittest.TestCase):

    def test_an_honest_camera_shows_what_was_filmed(self):
        for codec in ("h264", "h265"):
            with self.subTest(codec):
                heard, _ = hear(Lie("honest", "", codec=codec))
                true = [unit for picture in material.access_units(codec) for unit in picture]
                self.assertEqual(heard.units(codec)[:len(true)], true)
                self.assertEqual([p.sequence for p in heard.packets], list(range(len(heard.packets))))

    def test_a_camera_may_behave_before_it_lies(self):
        honest, _ = hear(Lie("honest", ""))
        for name in ("sequence-still", "fu-of-nothing", "unit-without-end", "slice-random", "frame-longer"):
            with self.subTest(name):
                heard, _ = hear(dataclasses.replace(LIES[name], behaves_for=20))
                count = next(i for i, pair in enumerate(zip(heard.packets, honest.packets)) if pair[0] != pair[1])
                self.assertEqual(sum(packet.marker for packet in heard.packets[:count]), 20)

    def test_pieces_are_one_byte(self):
        stream = LIES["frame-in-pieces"].played()
        sizes = {len(action) for action in itertools.islice(stream, 5000) if isinstance(action, bytes)}
        self.assertEqual(sizes, {1})

    def test_who_half_closes_goes_on_to_listen(self):
        for name in ("half-closes-after-play", "half-closes-after-frames"):
            with self.subTest(name):
                asyncio.run(self.ask_after_the_end(LIES[name]))

    async def ask_after_the_end(self, lie: Lie) -> None:
        """Comes to an end if the second question is heard."""
        questions: asyncio.Queue[Lie] = asyncio.Queue()
        async with Camera(lie, told=questions.put_nowait) as camera:
            port = int(camera.url.rpartition(":")[2].partition("/")[0])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(2):
                writer.write(b"PLAY x RTSP/1.0\r\n\r\n")
                await questions.get()
                await reader.read(-1)
            writer.close()


class ProgramTest(unittest.TestCase):

    def run_it(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-m", "hostile_camera", *arguments],
                              stdin=subprocess.DEVNULL,
                              capture_output=True,
                              text=True,
                              check=False)

    def test_lists_every_lie(self):
        listed = [line.split()[0] for line in self.run_it("--list").stdout.splitlines()]
        self.assertEqual(listed, list(LIES))

    def test_runs_the_lies_that_are_named(self):
        lines = self.run_it("--lie", "sps-zero", "--lie", HONEST.name).stdout.splitlines()
        self.assertRegex("\n".join(lines),
                         r"\Asps-zero rtsp://127.0.0.1:\d+/live\nhonest rtsp://127.0.0.1:\d+/live\Z")

    def test_names_what_is_missing(self):
        self.assertIn("name a --lie", self.run_it().stderr)
        self.assertIn("invalid choice: 'lie'", self.run_it("--lie", "lie").stderr)


if __name__ == "__main__":
    unittest.main()
