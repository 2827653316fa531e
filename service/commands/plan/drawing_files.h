// The output files for drawings of a plan or a run.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

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

/// Fails with INVALID_ARGUMENT and a remedy if two of these files and `other` are the same, or if
/// one cannot be written.
[[nodiscard]] absl::Status CheckDrawings(const DrawingFiles& files, const OutputFile& other);

using MakeDrawing = absl::FunctionRef<absl::StatusOr<std::string>()>;

/// Makes and writes the requested drawings.
[[nodiscard]] absl::Status WriteDrawings(const DrawingFiles& files, MakeDrawing svg,
                                         MakeDrawing trace);

}  // namespace millrace::service
