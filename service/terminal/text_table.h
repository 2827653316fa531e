// Columns of text that line up.
#pragma once

#include <string>
#include <vector>

namespace millrace::service {

/// Rows of cells under a row of heads. A column is as wide as its widest cell; numbers (and "-")
/// stand to the right of it, other texts to the left.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heads) : rows_{std::move(heads)} {}

  /// REQUIRES: as many cells as heads.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// Each row a line that ends with a newline, no blanks before it.
  [[nodiscard]] std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// "0.25", "3", "12.4", "1534": three digits that matter, or all before the point.
[[nodiscard]] std::string NumberText(double number);

/// "0 B", "12.4 MB": powers of 1000, in the unit that suits `largest`, so that figures that are
/// compared have one unit.
[[nodiscard]] std::string BytesText(double bytes, double largest);

}  // namespace millrace::service
