#include "service/terminal/terminal.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millrace::service {

std::size_t TerminalColumns(std::size_t otherwise, int file) {
  winsize size = {};
  if (ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return otherwise;
  return size.ws_col - 1U;  // A full last column would start a new line.
}

std::size_t TerminalRows(std::size_t otherwise) {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : otherwise;
}

bool HasTerminal() {
  return isatty(STDIN_FILENO) != 0 || isatty(STDOUT_FILENO) != 0 || isatty(STDERR_FILENO) != 0;
}

std::string DurationText(double seconds) {
  if (seconds < 60) return absl::StrFormat("%.0f s", seconds);
  if (seconds < 3600) return absl::StrFormat("%.0f min", seconds / 60);
  return absl::StrFormat("%.1f h", seconds / 3600);
}

std::string Hanging(std::string_view text, std::size_t columns, std::size_t indent) {
  const std::string behind(indent, ' ');
  std::vector<std::string> lines = absl::StrSplit(std::string(text), '\n');
  for (std::string& line : lines) {
    std::string rest = std::exchange(line, "");
    while (rest.size() > columns) {
      const std::size_t space = rest.rfind(' ', columns);
      if (space == std::string::npos || space < indent) break;  // The word is too long to break.
      const std::size_t next = rest.find_first_not_of(' ', space);
      if (next == std::string::npos) break;
      absl::StrAppend(&line, absl::StripTrailingAsciiWhitespace(rest.substr(0, space)), "\n");
      rest.replace(0, next, behind);
    }
    line += rest;
  }
  return absl::StrJoin(lines, "\n");
}

// Continuation bytes of UTF-8 begin with the bits 10.
std::string CutTo(std::string line, std::size_t columns) {
  if (line.size() <= columns) return line;
  while (columns > 0 && (static_cast<unsigned char>(line[columns]) & 0xC0) == 0x80) --columns;
  line.resize(columns);
  return line;
}

std::string OnOneLine(std::string text) {
  constexpr unsigned char kDelete = 0x7f;
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == kDelete; }, ' ');
  // U+0080 to U+009F: some terminals treat these as an escape and a letter.
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '\xC2' && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      text[i] = text[i + 1] = ' ';
    }
  }
  return text;
}

}  // namespace millrace::service
