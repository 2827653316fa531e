"""No source calls a function of another source's unnamed namespace because the compiler reads both as one unit.

The compiler would not complain: the other function may fit the arguments better than the one that was meant."""

import os
import pathlib
import re
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["MILLRACE_BUILT"])
TYPE = r"(?:\[\[\w+\]\] )?(?:inline |static |constexpr )*(?!return|else|throw)[A-Za-z_][\w:<>,&* ]*?[ &*>]"
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(rf"^{TYPE}(\w+)\(", re.MULTILINE)
NO_CODE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')


def own_functions(text: str) -> set[str]:
    """The names of the functions in its unnamed namespace."""
    return {name for part in UNNAMED.findall(text) for name in FUNCTION.findall(part)}


def is_member(name: str, source: pathlib.Path, text: str) -> bool:
    """Whether a class of the source, or of its header, has such a member: its methods call that one."""
    header = source.with_suffix(".h")
    declared = header.read_text() if header.exists() else ""
    return re.search(rf"\b{name}\(", declared) is not None or \
        re.search(rf"^  {TYPE}{name}\(", text, re.MULTILINE) is not None


def faults_of(sources: list[pathlib.Path]) -> list[str]:
    """For the sources of one unit."""
    texts = {source: NO_CODE.sub("", source.read_text()) for source in sources}
    functions = {source: own_functions(source.read_text()) for source in sources}
    return [f"{other}: {name}() may be that of {source}: give one of them another name, or list one file under ALONE"
            for source, names in functions.items() for other, text in texts.items() if other != source
            for name in sorted(names - functions[other])
            if re.search(rf"(?<![\w.>:]){name}\(", text) and not is_member(name, other, text)]


class UnitedNamesTest(unittest.TestCase):
    def test_no_source_calls_a_function_of_another_one(self):
        units = [[pathlib.Path(path) for path in re.findall(r'#include "([^"]+)"', unit.read_text())]
                 for unit in sorted(BUILD.rglob("Unity/*.cxx"))]
        self.assertEqual([fault for sources in units for fault in faults_of(sources)], [])

    def test_it_finds_one(self):
        one = "namespace {\nint Waves(int shift) { return shift; }\n}  // namespace\n"
        self.assertEqual(own_functions(one), {"Waves"})
        with self.subTest("a call"):
            self.assert_faults(1, one, "int f() { return Waves(0.7); }\n")
        with self.subTest("its own function"):
            self.assert_faults(0, one, "namespace {\nint Waves(double x) { return 1; }\n}  // namespace\nint f() { return Waves(1); }\n")
        with self.subTest("a member"):
            self.assert_faults(0, one, "struct A {\n  int Waves(int x) { return 1; }\n  int g() { return Waves(1); }\n};\n")
        with self.subTest("a method of an object"):
            self.assert_faults(0, one, "int f(A& a) { return a.Waves(1); }\n")

    def assert_faults(self, count: int, *texts: str) -> None:
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        sources = []
        for number, text in enumerate(texts):
            sources.append(folder / f"{number}.cc")
            sources[-1].write_text(text)
        self.assertEqual(len(faults_of(sources)), count, faults_of(sources))


if __name__ == "__main__":
    unittest.main()
