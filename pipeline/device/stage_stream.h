// Streams of GPUs that are one stage's alone.
//
// LibTorch has 32 streams for each GPU and gives them out in turn, so a stream may be several
// stages' at once: of another learner, or of a plan that runs after this one. Then what one puts
// there lands in the graph that the other is capturing. Here they are lent; whoever takes streams
// of a GPU from LibTorch itself takes those of high priority, as copies do (stage_devices.h).
#pragma once

#include <c10/core/Stream.h>

namespace millrace::pipeline {

/// A stream that no other StageStream has while this lives; or, where none is left, the GPU's
/// default stream, whose work cannot be captured. Thread-safe.
class StageStream {
 public:
  explicit StageStream(at::Device gpu);
  /// REQUIRES: nobody puts anything into the stream any more.
  ~StageStream();

  StageStream(const StageStream&) = delete;
  StageStream& operator=(const StageStream&) = delete;

  [[nodiscard]] const c10::Stream& get() const { return stream_; }

 private:
  const c10::Stream stream_;
};

/// Whether the current stream of the thread that calls is the GPU's default one, which all share.
[[nodiscard]] bool StreamIsShared(at::Device gpu);

}  // namespace millrace::pipeline
