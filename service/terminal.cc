#include "service/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace millrace::service {

std::size_t TerminalColumns(std::size_t otherwise) {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return otherwise;
  return size.ws_col - 1U;  // A full last column would begin a new line.
}

bool HasTerminal() {
  return isatty(STDIN_FILENO) != 0 || isatty(STDOUT_FILENO) != 0 || isatty(STDERR_FILENO) != 0;
}

std::string CutTo(std::string line, std::size_t columns) {
  if (line.size() > columns) line.resize(columns);
  return line;
}

}  // namespace millrace::service
