"""Tests make all pictures of README.md and docs/live-page.md from this program: operator_test.py those of the page, this
test the one of the terminal. With MILLRACE_SCREENSHOTS=FOLDER they write them there."""

import contextlib
import html
import json
import os
import pathlib
import re
import signal
import tempfile
import unittest

from millrace_testing import shipped_config, terminal
from millrace_testing.browser import open_browser, save_picture
from millrace_testing.millrace_process import PATIENCE_S, ROOT, config

_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+\.png)\)")
_MADE = re.compile(r'(?:self\.show|save_picture|draw)\((?:[^)"]*, )?"([a-z-]+)"')
_MAKES_PICTURES = bool(os.environ.get("MILLRACE_SCREENSHOTS"))
_COLUMNS = 110
# A line of progress that tells what was learned: for a picture after a hundred frames.
_PROGRESS = rf"\r *\d{{{3 if _MAKES_PICTURES else 1},}} frames [^\r]*explains (?:\d|none)[^\r]*\x1b\[K"
_PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #11151c; }}
pre {{ display: inline-block; margin: 0; padding: 18px 22px; color: #d7dde5; white-space: pre;
       font: 15px/1.45 "DejaVu Sans Mono", monospace; }}
</style><pre>{text}</pre>"""


def draw(text: str, name: str) -> None:
    """A picture of `text`, as save_picture()."""
    with contextlib.ExitStack() as stack:
        browser = open_browser(1400, 900)
        stack.callback(browser.quit)
        page = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) / "terminal.html"
        shown = text.replace(f"{ROOT}/", "")  # As where it is started in the checkout.
        page.write_text(_PAGE.format(text=html.escape(shown)), encoding="utf-8")
        browser.get(page.as_uri())
        save_picture(browser, name, element="pre")


class TerminalTest(unittest.TestCase):
    """The quick start's output on a terminal."""

    def configuration(self) -> pathlib.Path:
        """The sample itself for a picture, on its own ports; else on free ones."""
        sample = ROOT / "samples/millrace.yaml"
        if _MAKES_PICTURES:
            return sample
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "millrace.yaml"
        path.write_text(json.dumps({**shipped_config.read(sample), "listen": config()["listen"]}), encoding="utf-8")
        return path

    def shown(self) -> list[str]:
        """The screen when some frames have been predicted."""
        process, ours = terminal.start("serve", "--config", str(self.configuration()), columns=_COLUMNS)
        try:
            seen = terminal.Seen(0, terminal.read_until(ours, _PROGRESS), _COLUMNS)
            process.send_signal(signal.SIGINT)
            terminal.read(ours)
            self.assertEqual(process.wait(PATIENCE_S), 0)
            return [line.rstrip() for line in seen.screen]
        finally:
            os.close(ours)
            if process.poll() is None:
                process.kill()
                process.wait()

    def test_shows_the_plan_and_one_line_of_progress(self):
        screen = self.shown()
        text = "\n".join(screen)
        for said in ("millrace ", "  learns ", "  expect ", "  open "):
            self.assertIn(said, text)
        progress = [line for line in screen if re.match(r" *\d+ frames ", line)]
        self.assertEqual(len(progress), 1, f"one line, written anew:\n{text}")
        shown = f"$ millrace serve --config samples/millrace.yaml\n{text}"
        draw(shown, "terminal")


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
