"""How long the functions of a C++ file are, by their braces.

A function is a block in a namespace or class whose opening brace stands after a parameter list. Its length is the
number of lines from the opening to the closing brace, both included. Lambdas belong to their function. The measure
relies on clang-format: a space stands before the brace of a body and none before that of an initializer.
"""

import re

NOISE = re.compile(r"""
    //[^\n]* | /\*.*?\*/                            # Comments.
  | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"            # Raw strings.
  | "(?:\\.|[^"\\\n])*"
  | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'             # Characters, but not 1'000.
  | ^[ \t]*\#(?:\\\n|[^\n])*                        # Preprocessor lines.
""", re.DOTALL | re.MULTILINE | re.VERBOSE)
SCOPE = re.compile(r"\b(namespace|class|struct|union|extern)\b")


def kind_of(head: str) -> str:
    """What a brace opens, by the text since the statement began: "scope", "function" or "other"."""
    head = re.sub(r"\b(?:class|typename|struct) (?=\w+[,>])", "", head)  # Template parameters.
    if head.rstrip().endswith("=") or not head.endswith((" ", "\n")):
        return "other"
    if SCOPE.search(head) and not head.rstrip().endswith((")", "const", "noexcept", "override")):
        return "scope"
    return "function" if ")" in head else "other"


def function_lengths(text: str) -> list[int]:
    code = NOISE.sub(lambda match: "\n" * match[0].count("\n"), text)
    lengths = []
    open_blocks: list[tuple[str, int]] = []  # Kind, line.
    head, line = "", 1
    for character in code:
        if character == "\n":
            line += 1
        if character == "{":
            inside_code = any(kind != "scope" for kind, _ in open_blocks)
            open_blocks.append(("other" if inside_code else kind_of(head), line))
            head = ""
        elif character == "}" and open_blocks:
            kind, first = open_blocks.pop()
            if kind == "function":
                lengths.append(line - first + 1)
            head = ""
        else:
            head = "" if character == ";" else head + character
    return lengths
