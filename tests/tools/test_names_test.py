"""Every test that the documentation names with `-R NAME` exists.

The names come from the sources, without a build: TEST macros, and CMake's add_test() with the lists around it.
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# -R NAME, at the end of a command, in quotation marks or in backticks.
NAMED = re.compile(r"(?:`|run-tests [^`\n]*?)-R (?:['\"]([^'\"]+)['\"]|([^\s`'\"\]]+))")
# They stand for any name.
PLACEHOLDERS = ("NAME", "FOLDER", "REGEX")
GTEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
ADDED = re.compile(r"add_test\(NAME (\S+)")
# The functions that call add_test() with their own name, and a prefix.
FUNCTIONS = {"millrace_add_test": "", "millrace_add_program_test": "service_program.", "millrace_add_fuzzer": "fuzz."}
CALLED = re.compile(rf"^ *({'|'.join(FUNCTIONS)})\((\w+)", re.MULTILINE)
# foreach(name A B), foreach(name IN LISTS names), set(names A B) and list(APPEND names A B).
LISTS = re.compile(r"(?:foreach\(\w+|set\(\w+|list\(APPEND \w+)\s+([^)]*)\)")


def names_of_cmake(text: str) -> set[str]:
    """The tests of a CMakeLists.txt. A name of a loop stands for each word of the file's lists."""
    words = {word for words in LISTS.findall(text) for word in words.split() if re.fullmatch(r"\w+", word)}
    names = {FUNCTIONS[function] + name for function, name in CALLED.findall(text)}
    names |= {FUNCTIONS[function] + word for function in FUNCTIONS for word in words if f"{function}(${{" in text}
    for name in ADDED.findall(text):
        prefix, variable, _ = name.partition("${")
        names |= {prefix + word for word in words} if variable else {name}
    return names


def names_of_tests() -> set[str]:
    names = {".".join(match) for file in (ROOT / "tests").rglob("*.cc") for match in GTEST.findall(file.read_text())}
    for folder in ("tests", "clients"):
        for file in (ROOT / folder).rglob("CMakeLists.txt"):
            names |= names_of_cmake(file.read_text())
    return names


def pages() -> list[pathlib.Path]:
    folders = ("docs", "tests", "tools", "deploy", "samples", "clients")
    return [*ROOT.glob("*.md"), *(page for folder in folders for page in (ROOT / folder).rglob("*.md"))]


def named_in(page: pathlib.Path) -> list[str]:
    return [name for match in NAMED.findall(page.read_text()) if (name := "".join(match)) not in PLACEHOLDERS]


class TestNamesTest(unittest.TestCase):
    def test_reads_the_names_that_cmake_gives(self):
        text = """
set(names
    away crowds)
list(APPEND names image)
foreach(name IN LISTS names)
  add_test(NAME e2e.${name}
           COMMAND python ${name}_test.py)
endforeach()
add_test(NAME e2e.gpu COMMAND gpu)
millrace_add_test(base SOURCES clock_test.cc)
millrace_add_fuzzer(config millrace::service_config)
"""
        self.assertLessEqual({"e2e.away", "e2e.crowds", "e2e.image", "e2e.gpu", "base", "fuzz.config"},
                             names_of_cmake(text))

    def test_every_test_that_is_named_exists(self):
        names = names_of_tests()
        self.assertGreater(len(names), 1000)
        named = [(page, name) for page in sorted(pages()) for name in named_in(page)]
        self.assertGreater(len(named), 50)
        missing = [f"{page.relative_to(ROOT)}: no test has the name {name}" for page, name in named
                   if not any(re.search(name, each) for each in names)]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
