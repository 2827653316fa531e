// The output files for drawings of a plan or a run, and the options that name them.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Another output file of a command: its option and its path. An empty path: no file.
struct OutputFile {
  std::string option;
  std::string path;
};

/// Paths; empty: no such file.
struct DrawingFiles {
  std::string svg = {};
  std::string trace = {};

  [[nodiscard]] bool any() const { return !svg.empty() || !trace.empty(); }
};

/// Adds --svg and --trace to `command`. `files` must outlive it.
void AddDrawings(CLI::App& command, DrawingFiles& files);

/// Fails with INVALID_ARGUMENT and a remedy if two of these files and `other` are the same, or if
/// one cannot be written.
[[nodiscard]] absl::Status CheckDrawings(const DrawingFiles& files, const OutputFile& other);

using MakeDrawing = absl::FunctionRef<absl::StatusOr<std::string>()>;

/// Makes and writes the requested drawings.
[[nodiscard]] absl::Status WriteDrawings(const DrawingFiles& files, MakeDrawing svg,
                                         MakeDrawing trace);

}  // namespace millrace::service
