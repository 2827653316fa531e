"""Every relative link in the documentation leads somewhere, and functions are in the files that they are named with."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# [`file.cc`](../file.cc) `Class::Function()`
FUNCTION = re.compile(r"\]\(([^)\s]+\.(?:cc|h))\) `(?:\w+::)*(\w+)\(\)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*src=\"([^\"]+)\"")


def pages():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return [ROOT / name for name in listed if (ROOT / name).exists()]


def links_of(page):
    for link in LINK.finditer(page.read_text()):
        target = (link[1] or link[2]).partition("#")[0]
        if target and not re.match(r"[a-z]+:", target):
            yield target


class LinksTest(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        self.assertGreater(len(pages()), 10)
        broken = [f"{page.relative_to(ROOT)}: {target}" for page in pages() for target in links_of(page)
                  if not (page.parent / target).exists()]
        self.assertEqual(broken, [])

    def test_every_function_is_in_the_file_that_it_is_named_with(self):
        named = [(page, *match.groups()) for page in pages() for match in FUNCTION.finditer(page.read_text())]
        self.assertGreater(len(named), 30)
        missing = [f"{page.relative_to(ROOT)}: {file} has no {function}()" for page, file, function in named
                   if not re.search(rf"\b{function}\(", (page.parent / file).read_text())]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
