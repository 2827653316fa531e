"""tools/check-words on small files: its findings, and the parts that are no prose."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LONG = "One " + "long " * 23 + "sentence here."


class WordsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-words.")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(SOURCE / "tools", self.root / "tools")

    def check(self, name: str, text: str) -> subprocess.CompletedProcess:
        self.write(name, text)
        return self.run_tool(name)

    def check_messages(self, text: str) -> subprocess.CompletedProcess:
        subprocess.run(["git", "init", "--quiet"], cwd=self.root, check=True)
        self.write("base/a.cc", text)
        return self.run_tool("--messages")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_tool(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, self.root / "tools/check-words", *arguments],
                              cwd=self.root, capture_output=True, text=True)

    def assert_found(self, run: subprocess.CompletedProcess, *found: str) -> None:
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        lines = run.stdout.splitlines()[:-1]
        self.assertEqual(len(lines), len(found), run.stdout)
        for line, start in zip(lines, found):
            self.assertTrue(line.startswith(start), f"{line!r} does not start with {start!r}")

    def assert_clean(self, run: subprocess.CompletedProcess) -> None:
        self.assertEqual((run.returncode, run.stdout), (0, ""), run.stderr)

    def test_finds_a_phrase_with_its_line(self):
        run = self.check("a.md", "# A page\n\nThe server answers.\n\nWhoever asks gets it.\n")
        self.assert_found(run, "a.md:5: Phrases: 'Whoever'")

    def test_finds_a_phrase_in_a_table_and_in_a_heading(self):
        run = self.check("a.md", "# Those that wait\n\n| a | so many |\n")
        self.assert_found(run, "a.md:1: Phrases: 'Those that'", "a.md:3: Phrases: 'so many'")

    def test_names_the_better_term(self):
        self.assert_found(self.check("a.md", "It runs for ever.\n"), "a.md:1: Terms: write 'forever'")

    def test_counts_the_words_of_a_sentence_over_line_ends(self):
        run = self.check("a.md", LONG.replace(" long long", "\nlong long", 3) + " Short one.\n")
        self.assert_found(run, "a.md:1: Sentences: a sentence of 26 words")
        self.assert_clean(self.check("a.md", LONG.replace("One ", "") + " Short one.\n"))

    def test_a_list_item_begins_a_sentence(self):
        half = " ".join(LONG.split()[:15])
        self.assert_clean(self.check("a.md", f"- {half}\n- {half}\n"))

    def test_a_list_of_includes_is_no_sentence(self):
        folders = ", ".join(f"`pipeline/{word}`" for word in LONG.split())
        self.assert_clean(self.check("a.md", f"**Threads.** One.\n**May include** {folders}.\n"))
        self.assert_found(self.check("a.md", f"The caller may include {folders}.\n"), "a.md:1: Sentences")

    def test_refuses_names_of_limits_that_are_not_min_or_max(self):
        code = ("int kMostStages = 1;\n// The most: kMostStages.\nf(least_side, \"most\");\nint at_least_ = LeastLoaded();\n"
                "int kMost = Most(least_);\n")
        expected = ["1: Names: 'kMostStages'", "3: Names: 'least_side'", "5: Names: 'kMost'", "5: Names: 'Most'",
                    "5: Names: 'least_'"]
        self.assert_found(self.check("base/a.h", code), *(f"base/a.h:{line}" for line in expected))

    def test_counts_semicolons(self):
        self.assert_found(self.check("a.md", "One; two; three.\n"), "a.md:1: Semicolons: a sentence with 2")

    def test_code_links_tables_and_what_is_switched_off_are_no_prose(self):
        self.assert_clean(self.check("a.md", f"""
`whoever` and [a link](whoever.md).

    whoever

```
whoever
```

| {LONG} |

<!-- words: off -->
whoever
<!-- words: on -->

The server answers.
"""))

    def test_reads_the_comments_of_headers_and_not_their_code(self):
        header = f"// Nobody calls it.\n#pragma once\n/// {LONG}\nint whoever;  // Those that wait.\n"
        self.assert_found(self.check("a.h", header), "a.h:1: Phrases", "a.h:3: Sentences", "a.h:4: Phrases")

    def test_drawings_in_comments_are_no_prose(self):
        self.assert_clean(self.check("a.h", "// A drawing:\n//\n//   whoever   0\n//   0 -> those that\n"))

    def test_without_names_it_reads_every_kind_of_file(self):
        subprocess.run(["git", "init", "--quiet"], cwd=self.root, check=True)
        for name in ("base/a.h", "service/b/c.cc", "proto/millrace/v1/d.proto"):
            self.write(name, "// Nobody calls it.\n")
        self.write("proto/third_party/e.proto", "// Nobody calls it.\n")
        self.write("samples/f.yaml", "# Nobody calls it.\n")
        run = self.run_tool()
        found = {line.split(":")[0] for line in run.stdout.splitlines()[:-1]}
        self.assertEqual(found, {"base/a.h", "service/b/c.cc", "proto/millrace/v1/d.proto", "samples/f.yaml"})

    def test_items_of_a_list_in_a_comment_are_sentences_of_their_own(self):
        half = " ".join(LONG.split()[:13])
        items = f"// Fails with\n// - GONE: {half};\n// - LATE: {half}\n//   and so on;\n// - FULL: it is.\n"
        self.assert_clean(self.check("a.proto", items))
        self.assert_found(self.check("a.proto", items.replace("and so on", LONG)), "a.proto:3: Sentences")

    def test_reads_the_comments_of_yaml_and_not_its_keys(self):
        half = " ".join(LONG.split()[:14])
        text = f"# {half}\n# hosts: [\"*\"]\n# {half}\nkey: whoever\n# limit: 0\n# {half}\n# {half}\n"
        self.assert_found(self.check("a.yaml", text), "a.yaml:6: Sentences: a sentence of 28 words")

    def test_the_explanation_of_a_value_begins_a_sentence(self):
        half = " ".join(LONG.split()[:14])
        for value in ("flow:", "sgd, adam and adamw:", "rtsp::", "0:"):
            self.assert_clean(self.check("a.h", f"// {half}. {value} {half}.\n"))
        self.assert_found(self.check("a.h", f"// {half}. flow {half}.\n"), "a.h:1: Sentences")

    def test_the_address_of_a_page_may_end_a_sentence(self):
        half = " ".join(LONG.split()[:14])
        self.assert_clean(self.check("a.h", f"// {half} https://example.org/a.b. {half}.\n"))

    def test_reads_messages_on_demand(self):
        message = LONG.replace(" long", " long\" \"", 1)
        run = self.check_messages(f'Say("whoever " "asks it");\n// Whoever.\nSay("{message}");\n'
                                  f'constexpr char kHelp[] = R"(\nOptions\n\n{LONG})";\n')
        self.assert_found(run, "base/a.cc:1: Phrases: 'whoever'", "base/a.cc:3: Sentences: a sentence of 26 words",
                          "base/a.cc:4: Sentences")

    def test_comments_examples_and_header_values_are_no_messages(self):
        self.assert_clean(self.check_messages(f"""// It says "{LONG}"
const char quote = '"';  // "{LONG}
const int number = 10'000;
constexpr char kHelp[] = R"(
Examples
  {LONG}
Without
them.)";
Send("text/plain; version=0.0.4; charset=utf-8", "default-src 'none'; script-src 'self'; style-src 'self'");
"""))


if __name__ == "__main__":
    unittest.main()
