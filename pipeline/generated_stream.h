// A video of any length whose motion is known exactly, made by the program itself.
//
// It lets a network learn to see motion before it meets a camera, and lets tests measure how far a
// predicted flow is from the truth. Its motion is synthetic: a figure from it must say so.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/generated_scene.h"
#include "pipeline/random.h"

namespace millrace::pipeline {

struct GeneratedPair {
  /// [2, 1, height, width], previous then current, grey in 0..1.
  at::Tensor pictures;
  /// [1, 2, height, width], in pixels, indexed at the previous picture.
  at::Tensor flow;
};

/// Neighbouring pairs of frames, one scene after another; no pair spans two scenes.
///
/// Not thread-safe.
class GeneratedStream {
 public:
  struct Options {
    int width = 192;
    int height = 144;
    std::uint64_t seed = 0;
    int frames_per_scene = 50;
  };

  /// REQUIRES: width and height at least 16, frames_per_scene at least 2.
  explicit GeneratedStream(const Options& options);

  GeneratedStream(const GeneratedStream&) = delete;
  GeneratedStream& operator=(const GeneratedStream&) = delete;

  [[nodiscard]] GeneratedPair Next();

 private:
  void StartScene();

  const Options options_;
  Random random_;
  std::unique_ptr<GeneratedScene> scene_;
  std::vector<float> last_picture_;
  int frames_of_scene_ = 0;
};

}  // namespace millrace::pipeline
