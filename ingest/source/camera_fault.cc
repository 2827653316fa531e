#include "ingest/source/camera_fault.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace millrace::ingest {

absl::Status StatusOf(CameraFault fault, std::string_view detail) {
  const CameraFaultText& text = kCameraFaults.at(static_cast<std::size_t>(fault));
  return {text.code, absl::StrCat(std::string(text.what), detail.empty() ? "" : ": ",
                                  std::string(detail), "; ", std::string(text.remedy))};
}

}  // namespace millrace::ingest
