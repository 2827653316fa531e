"""Streams that clients add and delete, again and again, leave nothing behind: no memory, threads or files."""

import dataclasses
import random
import statistics
import sys
import unittest

import millrace
from millrace_testing import growth, millrace_process
from promises import Held, held

TIMES = 40
# Over the second half. One learner that is not let go is a megabyte and more, each time.
LIMITS = {"bytes": 12e6, "threads": 3, "files": 4}

SMALL = (64, 64)
SIDES = range(64, 384, 16)
# Beyond the memory before the streams of many sizes. With glibc's allocator the server keeps 210 to 330 MB more than
# before, with jemalloc 10 to 20 MB less.
MAX_KEPT_BYTES = 80e6


class StreamGrowthTest(unittest.TestCase):
    def setUp(self):
        # What a learner costs is measured: on a busy machine more than this one has.
        self.server = self.enterContext(millrace_process.serve(
            millrace_process.config(streams=[], budget={"cores": 100})))
        self.client = self.enterContext(millrace.Client(self.server.grpc))

    def held(self) -> Held:
        return held(self.server.process.pid)

    def add_and_delete(self, size: tuple[int, int] = SMALL) -> Held:
        """Returns what the server holds afterwards."""
        self.client.create_stream(millrace_process.test_stream("door", model={"input": list(size)}))
        millrace_process.wait_for("predictions", lambda: self.client.stream("door").frames.predicted > 2,
                                  pause_s=0.01)
        self.client.delete_stream("door")
        return self.held()

    def test_a_stream_that_is_deleted_is_gone(self):
        samples = [dataclasses.asdict(self.add_and_delete()) for _ in range(TIMES)]
        for name, limit in LIMITS.items():
            values = [sample[name] for sample in samples]
            print(f"{name}: {values[0]}, {values[TIMES // 2]}, {values[-1]}", file=sys.stderr)
            with self.subTest(name):
                self.assertFalse(growth.judge(list(enumerate(values))).exceeds(limit), values)

    def test_the_memory_of_streams_of_many_sizes_goes_back_to_the_system(self):
        """docs/decisions/0032: glibc's allocator keeps the most that each of its arenas has ever had."""
        before = statistics.median(self.add_and_delete().bytes for _ in range(5))
        order = random.Random(1)
        sizes = list(zip(SIDES, order.sample(SIDES, len(SIDES))))
        order.shuffle(sizes)
        peak = max(self.add_and_delete(size).bytes for size in sizes)
        print(f"bytes: {before}, at most {peak}", file=sys.stderr)
        # The allocator takes some ten seconds.
        millrace_process.wait_for(
            f"the server's {self.held()} to be at most {(before + MAX_KEPT_BYTES) / 1e6:.0f} MB",
            lambda: self.held().bytes <= before + MAX_KEPT_BYTES)


if __name__ == "__main__":
    unittest.main()
