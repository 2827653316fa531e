// Keeps exceptions out of GStreamer's C code, which cannot propagate them.
#pragma once

#include <gst/gst.h>

#include <string>

#include "absl/status/status.h"
#include "base/exception_to_status.h"

namespace millrace::ingest {

/// Returns the result of `work`, a handler of a signal of `element`. If `work` throws, `element`
/// fails with the cause and the result is `otherwise`. Runs on any thread.
template <typename Answer, typename Work>
Answer GuardedCallback(GstElement* element, Answer otherwise, Work work) noexcept {
  Answer answer = otherwise;
  const absl::Status done = ExceptionToStatus([&] { answer = work(); });
  if (!done.ok()) {
    const std::string why(done.message());
    GST_ELEMENT_ERROR(element, LIBRARY, FAILED, ("%s", why.c_str()), (nullptr));
  }
  return answer;
}

}  // namespace millrace::ingest
