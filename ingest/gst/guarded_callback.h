// Keeps exceptions out of GStreamer's C code, which cannot pass them on.
#pragma once

#include <gst/gst.h>

#include <exception>

namespace millrace::ingest {

/// Returns what `work` returns, which answers a signal of `element`. Where it throws, `element`
/// fails with the cause, and `otherwise` is the answer. On any thread.
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
