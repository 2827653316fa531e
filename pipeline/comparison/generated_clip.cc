#include "pipeline/comparison/generated_clip.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/strings/str_cat.h"
#include "pipeline/flow/flow_pictures.h"
#include "pipeline/scenes/generated_stream.h"

namespace millrace::pipeline {
namespace {

Rgb Shared(std::vector<std::uint8_t> rgb) {
  return std::make_shared<const std::vector<std::uint8_t>>(std::move(rgb));
}

// Null if the pictures show different scenes.
std::shared_ptr<const TrueFlow> TruthOf(const GeneratedPair& made, int width, int height) {
  if (made.kind == GeneratedPair::Kind::kCut) return nullptr;
  const at::Tensor visible = made.visible.contiguous();
  const std::uint8_t* const bytes = visible.data_ptr<std::uint8_t>();
  return std::make_shared<const TrueFlow>(
      TrueFlow{.width = width,
               .height = height,
               .flow = OnHost({PixelByPixel(made.flow)}).front(),
               .known = {},
               .visible = {bytes, bytes + visible.numel()}});
}

class Reading final : public Clip {
 public:
  explicit Reading(const GeneratedClipOptions& options)
      : options_(options),
        stream_({.width = options.width,
                 .height = options.height,
                 .seed = options.seed,
                 .speed = options.speed}) {}

  absl::StatusOr<std::optional<ClipPair>> Next() override {
    if (next_ == options_.pairs) return std::nullopt;
    GeneratedPair made = stream_.Next();
    const std::int64_t number = next_++;
    const std::chrono::duration<double> time(static_cast<double>(number + 1) /
                                             options_.frames_per_second);
    return ClipPair{.number = number,
                    .stream_time = std::chrono::round<std::chrono::nanoseconds>(time),
                    .previous = Shared(std::move(made.previous_rgb)),
                    .current = Shared(std::move(made.current_rgb)),
                    .truth = TruthOf(made, options_.width, options_.height)};
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
