// What a line that rewrites itself must know of the terminal.
#pragma once

#include <cstddef>
#include <string>

namespace millrace::service {

/// Columns that a line on standard output may fill without wrapping; `otherwise` where it is no
/// terminal.
[[nodiscard]] std::size_t TerminalColumns(std::size_t otherwise);

/// Whether standard input, output or error is a terminal: one that hung up is none any more.
[[nodiscard]] bool HasTerminal();

/// The beginning of `line`, at most `columns` long.
[[nodiscard]] std::string CutTo(std::string line, std::size_t columns);

}  // namespace millrace::service
