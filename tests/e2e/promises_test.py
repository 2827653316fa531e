"""A broken promise is noticed, with the suspects."""

import signal
import subprocess
import unittest

from millrace_testing import millrace_process
from promises import Promises, held
import promises


class PromisesTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(millrace_process.serve(millrace_process.config()))

    def broken(self, watch: Promises) -> str:
        """The first that breaks."""
        return millrace_process.wait_for("a promise to break", lambda: watch.broken)[0]

    def test_all_hold_of_a_server_that_is_left_alone(self):
        with Promises(self.server, lambda: ["nobody"], held(self.server.process.pid).bytes + 500e6) as watch:
            for call in ("CreateStream", "UpdateStream", "DeleteStream", "ListStreams", "GetStream"):
                millrace_process.wait_for(call, lambda call=call: watch.calls[call] >= 3)
            millrace_process.wait_for("audits", lambda: watch.audits >= 10)
        self.assertEqual(watch.broken, [])

    def test_a_server_that_does_not_answer_breaks_one(self):
        with Promises(self.server, lambda: ["a-lie", "another"], busy_before=1.5) as watch:
            millrace_process.wait_for("a connection", lambda: watch.calls["GetStream"])
            self.server.process.send_signal(signal.SIGSTOP)
            # Twice as long as an answer may take.
            with self.assertRaises(subprocess.TimeoutExpired):
                self.server.process.wait(timeout=2 * promises.ANSWERS_WITHIN_S * 1.5)
            self.server.process.send_signal(signal.SIGCONT)
            # The load is that from before, whatever it is now.
            self.assertRegex(self.broken(watch),
                             r"of another stream took .* s, and may take 3.00 s; there were: a-lie, another")

    def test_memory_beyond_its_bound_breaks_one(self):
        with Promises(self.server, max_bytes=1e6) as watch:  # Of what it has, which comes and goes.
            self.assertRegex(self.broken(watch), r"it has \d+ MB of memory, and may have \d+; there were: none")

    def test_a_server_that_ends_when_it_should_breaks_none(self):
        with millrace_process.start(millrace_process.config()) as (process, _):
            with Promises(millrace_process.stands(process)) as watch:
                millrace_process.wait_for("calls", lambda: watch.calls["DeleteStream"] and watch.audits)
                watch.server_ends()
                process.terminate()
                process.wait(millrace_process.PATIENCE_S)
            self.assertEqual(watch.broken, [])

    def test_a_server_that_ends_breaks_one(self):
        with millrace_process.start(millrace_process.config()) as (process, _):
            with Promises(millrace_process.stands(process)) as watch:
                process.kill()
                self.assertIn("there were: none", self.broken(watch))


if __name__ == "__main__":
    unittest.main(verbosity=2)
