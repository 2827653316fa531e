#include "pipeline/evaluation/generated_clip.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/strings/str_cat.h"
#include "pipeline/flow_pictures.h"
#include "pipeline/generated_stream.h"

namespace millrace::pipeline {
namespace {

// One picture of a pair, as a camera would deliver it.
Rgb BytesOf(const at::Tensor& pictures, int which) {
  const at::Tensor grey = pictures.select(0, which).contiguous();
  const float* values = grey.data_ptr<float>();
  auto rgb = std::make_shared<std::vector<std::uint8_t>>();
  rgb->reserve(3 * static_cast<std::size_t>(grey.numel()));
  for (std::int64_t i = 0; i < grey.numel(); ++i) {
    const float level = std::clamp(values[i] * 255.0F + 0.5F, 0.0F, 255.0F);
    rgb->insert(rgb->end(), 3, static_cast<std::uint8_t>(level));
  }
  return rgb;
}

class Reading final : public Clip {
 public:
  explicit Reading(const GeneratedClipOptions& options)
      : options_(options),
        stream_({.width = options.width, .height = options.height, .seed = options.seed}) {}

  absl::StatusOr<std::optional<ClipPair>> Next() override {
    if (next_ == options_.pairs) return std::nullopt;
    const GeneratedPair made = stream_.Next();
    TrueFlow truth{
        .width = options_.width, .height = options_.height, .flow = *Interleaved(made.flow)};
    const std::int64_t number = next_++;
    const std::chrono::duration<double> time(static_cast<double>(number + 1) /
                                             options_.frames_per_second);
    return ClipPair{.number = number,
                    .stream_time = std::chrono::round<std::chrono::nanoseconds>(time),
                    .previous = BytesOf(made.pictures, 0),
                    .current = BytesOf(made.pictures, 1),
                    .truth = std::make_shared<const TrueFlow>(std::move(truth))};
  }

 private:
  const GeneratedClipOptions options_;
  GeneratedStream stream_;
  std::int64_t next_ = 0;
};

}  // namespace

ClipSource GeneratedClip(const GeneratedClipOptions& options) {
  return {.name = absl::StrCat("generated ", options.seed),
          .width = options.width,
          .height = options.height,
          .open = [options]() -> absl::StatusOr<std::unique_ptr<Clip>> {
            return std::make_unique<Reading>(options);
          }};
}

}  // namespace millrace::pipeline
