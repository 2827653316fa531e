// Formats text as aligned columns.
#pragma once

#include <string>
#include <vector>

namespace millrace::service {

/// Rows of cells below a row of heads. A column is as wide as its widest cell. Numbers (and "-")
/// are right-aligned, other texts left-aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heads) : rows_{std::move(heads)} {}

  /// REQUIRES: as many cells as heads.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// One line per row, each with a final newline and no trailing blanks.
  [[nodiscard]] std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// "0.25", "3", "12.4", "1534": three significant digits, or all digits before the point.
[[nodiscard]] std::string NumberText(double number);

/// "0 B", "12.4 MB": powers of 1000, in the unit that fits `largest`, so that compared values have
/// the same unit.
[[nodiscard]] std::string BytesText(double bytes, double largest);

}  // namespace millrace::service
