#include "service/drawing_files.h"

#include "base/atomic_file.h"
#include "base/status.h"

namespace millrace::service {
namespace {

absl::Status Check(const std::string& path) {
  return path.empty() ? absl::OkStatus() : CheckWritable(path);
}

absl::Status Write(const std::string& path, MakeDrawing make) {
  if (path.empty()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(const std::string drawing, make());
  return WriteFileAtomically(path, drawing);
}

}  // namespace

absl::Status CheckDrawings(const DrawingFiles& files) {
  if (!files.svg.empty() && files.svg == files.trace) {
    return absl::InvalidArgumentError("--svg and --trace name the same file");
  }
  MILLRACE_RETURN_IF_ERROR(Check(files.svg));
  return Check(files.trace);
}

absl::Status WriteDrawings(const DrawingFiles& files, MakeDrawing svg, MakeDrawing trace) {
  MILLRACE_RETURN_IF_ERROR(Write(files.svg, svg));
  return Write(files.trace, trace);
}

}  // namespace millrace::service
