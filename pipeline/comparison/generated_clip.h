// The generated stream (generated_stream.h) as a clip. Its true motion is known exactly.
#pragma once

#include <cstdint>

#include "pipeline/evaluation/clip.h"

namespace millrace::pipeline {

struct GeneratedClipOptions {
  int width = 192;
  int height = 144;
  std::uint64_t seed = 0;
  std::int64_t pairs = 2000;
  /// The mean motion, in pixels.
  double speed = 2.75;
  /// The stream's own clock.
  double frames_per_second = 25;
};

/// The motion is synthetic. Every published figure from this clip must say so.
[[nodiscard]] ClipSource GeneratedClip(const GeneratedClipOptions& options);

}  // namespace millrace::pipeline
