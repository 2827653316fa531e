#include "pipeline/device/device_failure.h"

#include <c10/util/Exception.h>

#include "absl/strings/str_cat.h"
#include "base/foreign_error.h"

namespace millrace::pipeline {

absl::Status FailureOf(const std::exception& thrown) {
  const auto* const of_libtorch = dynamic_cast<const c10::Error*>(&thrown);
  const std::string cause =
      CauseLine(of_libtorch != nullptr ? of_libtorch->what_without_backtrace() : thrown.what());
  if (dynamic_cast<const c10::OutOfMemoryError*>(&thrown) != nullptr) {
    return absl::AbortedError(
        absl::StrCat("the GPU's memory is full: take smaller pictures, fewer streams or a "
                     "schedule that keeps less (millrace plan says how much). Or spread the "
                     "stages over more GPUs (",
                     cause, ")"));
  }
  if (dynamic_cast<const c10::AcceleratorError*>(&thrown) != nullptr) {
    return absl::AbortedError(absl::StrCat(
        "the GPU has failed: start again, and if that does not help see what dmesg and "
        "nvidia-smi say (",
        cause, ")"));
  }
  return absl::InternalError(cause);
}

}  // namespace millrace::pipeline
