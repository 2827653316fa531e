// What lines that rewrite themselves must know of the terminal.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::service {

/// Columns that a line on `file`, standard output or error, may fill without wrapping; `otherwise`
/// where it is no terminal.
[[nodiscard]] std::size_t TerminalColumns(std::size_t otherwise, int file = STDOUT_FILENO);

/// A time in few letters: "30 s", "10 min", "1.5 h".
[[nodiscard]] std::string DurationText(double seconds);

/// `text` with its lines broken at spaces where they are longer than `columns`; what goes on begins
/// behind `indent` spaces.
[[nodiscard]] std::string Hanging(std::string_view text, std::size_t columns, std::size_t indent);

/// Whether standard input, output or error is a terminal: one that hung up is none any more.
[[nodiscard]] bool HasTerminal();

/// Its rows; `otherwise` where it is no terminal.
[[nodiscard]] std::size_t TerminalRows(std::size_t otherwise);

/// The beginning of `line`, at most `columns` bytes: whole characters, of UTF-8, too.
[[nodiscard]] std::string CutTo(std::string line, std::size_t columns);

/// `text` with spaces in the place of line feeds and of all else that a terminal obeys instead of
/// showing it: for words of others, such as a camera's.
[[nodiscard]] std::string OnOneLine(std::string text);

}  // namespace millrace::service
