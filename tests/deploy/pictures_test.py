"""The pictures of README.md and docs/live-page.md are of what this very program shows, each made by a test: those of the
page by operator_test.py, that of the terminal here. MILLRACE_SCREENSHOTS=FOLDER has them written there."""

import os
import pathlib
import re
import tempfile
import unittest

import millrace_process
from millrace_process import PATIENCE_S, ROOT
from screen import Screen, runs_in_terminal, save_terminal

_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+\.png)\)")
_MADE = re.compile(r'(?:self\.show|save_picture|save_terminal)\((?:[^)"]*, )?"([a-z-]+)"')
# Of the street, before a picture is taken.
FRAMES_TO_LEARN = 100 if os.environ.get("MILLRACE_SCREENSHOTS") else 1


def sample_on_free_ports() -> str:
    text = (ROOT / "samples/millrace.yaml").read_text(encoding="utf-8")
    return re.sub(r"^(  (?:grpc|http|metrics)_port:) \d+", r"\1 0", text, flags=re.MULTILINE)


class ScreenTest(unittest.TestCase):
    def test_shows_what_a_line_is_rewritten_with(self):
        screen = Screen()
        screen.write("first\r\nprogress 10\r\x1b[Kdone\r\n\x1b[31mred\x1b[0m")
        self.assertEqual(screen.text, "first\ndone\nred")


class TerminalTest(unittest.TestCase):
    """What `make run` shows, in a terminal."""

    def configuration(self) -> pathlib.Path:
        """The sample itself for a picture, on its own ports; else on free ones."""
        if os.environ.get("MILLRACE_SCREENSHOTS"):
            return ROOT / "samples/millrace.yaml"
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "millrace.yaml"
        path.write_text(sample_on_free_ports(), encoding="utf-8")
        return path

    def test_shows_the_plan_and_one_line_of_progress(self):
        command = [millrace_process.program(), "serve", "--config", self.configuration()]
        with runs_in_terminal(command, ROOT) as terminal:
            def learned(text: str) -> bool:
                frames = re.search(r"^  (\d+) frames .* loss \d", text, re.MULTILINE)
                return frames is not None and int(frames[1]) >= FRAMES_TO_LEARN

            text = terminal.await_screen("progress", learned, PATIENCE_S)
            for said in ("millrace ", "  learns ", "  plan ", "  stages ", "  expect ", "  open "):
                self.assertIn(said, text)
            self.assertEqual(text.count(" frames  "), 1, f"one line, written anew:\n{text}")
            shown = f"$ millrace serve --config samples/millrace.yaml\n{text}"
            save_terminal(shown, "terminal")
            self.assertEqual(terminal.end(PATIENCE_S), 0)


class NamedPicturesTest(unittest.TestCase):
    def test_every_picture_is_made_by_a_test_and_is_there(self):
        made = set()
        for test in (ROOT / "tests/deploy").glob("*_test.py"):
            made.update(_MADE.findall(test.read_text(encoding="utf-8")))
        named = set()
        for page in (ROOT / "README.md", ROOT / "docs/live-page.md"):
            for name in _PICTURE.findall(page.read_text(encoding="utf-8")):
                path = page.parent / name
                self.assertTrue(path.is_file(), f"{page.name} names {name}, which is not there")
                named.add(path.stem)
        self.assertEqual(named - made, set(), "no test makes these")
        shown = {path.stem for path in (ROOT / "docs").glob("*.png")}
        self.assertEqual(shown - named, set(), "nobody names these")


if __name__ == "__main__":
    unittest.main()
