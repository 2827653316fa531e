#include "service/commands/plan/drawing_files.h"

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/status.h"

namespace millrace::service {
namespace {

absl::Status CheckApart(const OutputFile& a, const OutputFile& b) {
  if (a.path.empty() || a.path != b.path) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(a.option, " and ", b.option, " name the same file"));
}

absl::Status Check(const std::string& path) {
  return path.empty() ? absl::OkStatus() : CheckWritable(path);
}

absl::Status Write(const std::string& path, MakeDrawing make) {
  if (path.empty()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(const std::string drawing, make());
  return WriteFileAtomically(path, drawing);
}

}  // namespace

void AddDrawings(CLI::App& command, DrawingFiles& files) {
  command.add_option("--svg", files.svg, "Draw it to this file");
  command.add_option("--trace", files.trace, "Write a trace for ui.perfetto.dev to this file");
}

absl::Status CheckDrawings(const DrawingFiles& files, const OutputFile& other) {
  const OutputFile svg{"--svg", files.svg};
  const OutputFile trace{"--trace", files.trace};
  MILLRACE_RETURN_IF_ERROR(CheckApart(svg, trace));
  MILLRACE_RETURN_IF_ERROR(CheckApart(svg, other));
  MILLRACE_RETURN_IF_ERROR(CheckApart(trace, other));
  MILLRACE_RETURN_IF_ERROR(Check(files.svg));
  return Check(files.trace);
}

absl::Status WriteDrawings(const DrawingFiles& files, MakeDrawing svg, MakeDrawing trace) {
  MILLRACE_RETURN_IF_ERROR(Write(files.svg, svg));
  return Write(files.trace, trace);
}

}  // namespace millrace::service
