// The terminal's properties, and text that fits it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::service {

/// Columns that a line on `file`, standard output or error, may fill without wrapping; `otherwise`
/// if `file` is no terminal.
[[nodiscard]] std::size_t TerminalColumns(std::size_t otherwise, int file = STDOUT_FILENO);

/// A duration in few characters: "30 s", "10 min", "1.5 h".
[[nodiscard]] std::string DurationText(double seconds);

/// `text` with lines broken at spaces if they are longer than `columns`. Continuation lines begin
/// with `indent` spaces.
[[nodiscard]] std::string Hanging(std::string_view text, std::size_t columns, std::size_t indent);

/// Whether standard input, output or error is a terminal. A terminal that has hung up does not
/// count.
[[nodiscard]] bool HasTerminal();

/// The terminal's rows; `otherwise` without a terminal.
[[nodiscard]] std::size_t TerminalRows(std::size_t otherwise);

/// The start of `line`, at most `columns` bytes; never cuts a UTF-8 character.
[[nodiscard]] std::string CutTo(std::string line, std::size_t columns);

/// `text` with line feeds and terminal control characters replaced by spaces: for foreign text,
/// such as a camera's.
[[nodiscard]] std::string OnOneLine(std::string text);

}  // namespace millrace::service
