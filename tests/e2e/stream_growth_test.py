"""Streams that clients add and delete, again and again, leave nothing behind: no memory, threads or files."""

import dataclasses
import sys
import unittest

import millrace
from millrace_testing import growth, millrace_process
from promises import held

TIMES = 40
# Over the second half. One learner that is not let go is a megabyte and more, each time.
LIMITS = {"bytes": 12e6, "threads": 3, "files": 4}


class StreamGrowthTest(unittest.TestCase):
    def setUp(self):
        # What a learner costs is measured: on a busy machine more than this one has.
        self.server = self.enterContext(millrace_process.serve(
            millrace_process.config(streams=[], budget={"cores": 100})))
        self.client = self.enterContext(millrace.Client(self.server.grpc))

    def add_and_delete(self) -> None:
        self.client.create_stream(millrace_process.test_stream("door"))
        millrace_process.wait_for("predictions", lambda: self.client.stream("door").frames.predicted > 2,
                                  pause_s=0.01)
        self.client.delete_stream("door")

    def test_a_stream_that_is_deleted_is_gone(self):
        samples = []
        for _ in range(TIMES):
            self.add_and_delete()
            samples.append(dataclasses.asdict(held(self.server.process.pid)))
        for name, limit in LIMITS.items():
            values = [sample[name] for sample in samples]
            print(f"{name}: {values[0]}, {values[TIMES // 2]}, {values[-1]}", file=sys.stderr)
            with self.subTest(name):
                self.assertFalse(growth.judge(list(enumerate(values))).exceeds(limit), values)


if __name__ == "__main__":
    unittest.main()
