"""tools/foreground under make, on a terminal: Ctrl-C reaches the program, whose exit code decides."""

import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import unittest

FOREGROUND = pathlib.Path(__file__).resolve().parents[2] / "tools/foreground"

# Says that it is ready, waits for a signal, and ends with the exit code that it was given.
PROGRAM = """
import signal, sys
numbers = (signal.SIGINT, signal.SIGTERM)
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("ready", flush=True)
print("got", signal.Signals(signal.sigwait(numbers)).name, flush=True)
sys.exit(int(sys.argv[1]))
"""


class ForegroundTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-foreground.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "program.py").write_text(PROGRAM)
        (self.folder / "Makefile").write_text(
            f"run:\n\t@exec {FOREGROUND} /usr/bin/python3 program.py $(CODE)\n")

    def make_on_a_terminal(self, code: int) -> tuple[int, str]:
        """Runs `make run` on a terminal, presses Ctrl-C when the program is ready."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvp("make", ["make", "run", f"CODE={code}"])
        output = ""
        pressed = False
        while True:
            try:
                output += os.read(terminal, 1000).decode()
            except OSError:  # The terminal's other end is closed.
                break
            if "ready" in output and not pressed:
                os.write(terminal, b"\x03")
                pressed = True
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), output

    def test_make_succeeds_when_the_program_ends_well_after_ctrl_c(self):
        code, output = self.make_on_a_terminal(code=0)
        self.assertIn("got SIGINT", output)
        self.assertEqual(code, 0, output)

    def test_make_fails_when_the_program_does(self):
        code, output = self.make_on_a_terminal(code=3)
        self.assertIn("got SIGINT", output)
        self.assertIn("Error 3", output)
        self.assertNotEqual(code, 0)

    def test_takes_the_programs_place_where_there_is_no_terminal(self):
        with subprocess.Popen([FOREGROUND, "/usr/bin/python3", "program.py", "4"], cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.stdout.readline(), "got SIGTERM\n")
            self.assertEqual(process.wait(), 4)

    def test_names_a_program_that_cannot_be_run(self):
        run = subprocess.run([FOREGROUND, "./absent"], cwd=self.folder, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 127)
        self.assertIn("cannot run ./absent", run.stderr)


if __name__ == "__main__":
    unittest.main()
