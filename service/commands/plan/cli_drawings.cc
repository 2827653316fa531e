#include "service/commands/plan/cli_drawings.h"

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"

namespace millrace::service {

void AddDrawings(CLI::App& command, DrawingFiles& files) {
  command.add_option("--svg", files.svg, "Draw it to this file");
  command.add_option("--trace", files.trace, "Write a trace for ui.perfetto.dev to this file");
}

}  // namespace millrace::service
