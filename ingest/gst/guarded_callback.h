// Keeps exceptions out of GStreamer's C code, which cannot propagate them.
#pragma once

#include <gst/gst.h>

#include <exception>

namespace millrace::ingest {

/// Returns the result of `work`, a handler of a signal of `element`. If `work` throws, `element`
/// fails with the cause and the result is `otherwise`. Runs on any thread.
template <typename Answer, typename Work>
Answer GuardedCallback(GstElement* element, Answer otherwise, Work work) noexcept {
  try {
    return work();
  } catch (const std::exception& error) {
    GST_ELEMENT_ERROR(element, LIBRARY, FAILED, ("%s", error.what()), (nullptr));
  } catch (...) {
    GST_ELEMENT_ERROR(element, LIBRARY, FAILED, ("a callback threw"), (nullptr));
  }
  return otherwise;
}

}  // namespace millrace::ingest
