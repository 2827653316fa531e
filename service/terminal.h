// What lines that rewrite themselves must know of the terminal.
#pragma once

#include <cstddef>
#include <string>

namespace millrace::service {

/// Columns that a line on standard output may fill without wrapping; `otherwise` where it is no
/// terminal.
[[nodiscard]] std::size_t TerminalColumns(std::size_t otherwise);

/// Its rows; `otherwise` where it is no terminal.
[[nodiscard]] std::size_t TerminalRows(std::size_t otherwise);

/// The beginning of `line`, at most `columns` long.
[[nodiscard]] std::string CutTo(std::string line, std::size_t columns);

}  // namespace millrace::service
