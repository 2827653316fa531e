// GPU streams that belong to one stage alone.
//
// LibTorch has 32 streams per GPU and hands them out in turn. So several stages may get the same
// stream, from another learner or from a later plan. Work of one stage would then land in the graph
// that another one captures. This class hands each stream to one owner. Other code must take
// LibTorch's high-priority streams, as copies do (stage_devices.h).
#pragma once

#include <c10/core/Stream.h>

namespace millrace::pipeline {

/// A stream that no other StageStream has during its lifetime. If no stream is left, it is the
/// GPU's default stream, whose work cannot be captured. Thread-safe.
class StageStream {
 public:
  explicit StageStream(at::Device gpu);
  /// REQUIRES: no thread uses the stream any more.
  ~StageStream();

  StageStream(const StageStream&) = delete;
  StageStream& operator=(const StageStream&) = delete;

  [[nodiscard]] const c10::Stream& get() const { return stream_; }

 private:
  const c10::Stream stream_;
};

/// Whether the calling thread's current stream is the GPU's default one, which all threads share.
[[nodiscard]] bool StreamIsShared(at::Device gpu);

}  // namespace millrace::pipeline
