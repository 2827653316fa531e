// The files that a plan or a run is drawn to.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::service {

/// What else a command writes: the option that names it, and the path. Empty: nothing.
struct OutputFile {
  std::string option;
  std::string path;
};

/// Paths. Empty: not wanted.
struct DrawingFiles {
  std::string svg = {};
  std::string trace = {};

  [[nodiscard]] bool any() const { return !svg.empty() || !trace.empty(); }
};

/// Fails with INVALID_ARGUMENT, saying what to do, where two of these and of `other` are the same
/// file, or one cannot be written.
[[nodiscard]] absl::Status CheckDrawings(const DrawingFiles& files, const OutputFile& other);

using MakeDrawing = absl::FunctionRef<absl::StatusOr<std::string>()>;

/// Makes what is wanted and writes it.
[[nodiscard]] absl::Status WriteDrawings(const DrawingFiles& files, MakeDrawing svg,
                                         MakeDrawing trace);

}  // namespace millrace::service
