#include "service/terminal/text_table.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace millrace::service {
namespace {

bool IsNumber(std::string_view cell) {
  if (cell == "-") return true;
  if (cell.starts_with('-')) cell.remove_prefix(1);
  return !cell.empty() && absl::ascii_isdigit(cell[0]) && cell.find('-') == std::string_view::npos;
}

// Counts UTF-8 characters: all bytes except continuation bytes.
std::size_t WidthOf(std::string_view cell) {
  return std::count_if(cell.begin(), cell.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::string Padded(const std::string& cell, std::size_t width, bool right) {
  const std::string blanks(width - WidthOf(cell), ' ');
  return right ? blanks + cell : cell + blanks;
}

}  // namespace

std::string TextTable::Text() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> right(columns, true);
  for (std::size_t column = 0; column < columns; ++column) {
    for (const auto& row : rows_) {
      widths[column] = std::max(widths[column], WidthOf(row[column]));
      if (&row != &rows_.front()) right[column] = right[column] && IsNumber(row[column]);
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t column = 0; column < columns; ++column) {
      absl::StrAppend(&line, column > 0 ? "  " : "",
                      Padded(row[column], widths[column], right[column]));
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string NumberText(double number) {
  if (std::abs(number) >= 100) return absl::StrFormat("%.0f", number);
  return absl::StrFormat("%.3g", number);
}

std::string BytesText(double bytes, double largest) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; largest >= 999.5 && unit < 4; ++unit) {
    largest /= 1000;
    bytes /= 1000;
  }
  return absl::StrCat(NumberText(bytes), " ", kUnits[unit]);
}

}  // namespace millrace::service
