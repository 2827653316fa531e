// Pairs of pictures with exactly known motion, made of photographs: a background and cut-outs that
// move before it and before each other.
//
// A network learns from them what no camera can teach it: the true motion at edges and of what gets
// hidden. Their textures and edges are real, their motion is not; a published result must say so.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/learner/photograph.h"
#include "pipeline/scenes/generated_pair.h"

namespace millrace::pipeline {

/// An endless list of pairs. Each depends on the seed, its number and the photographs alone, up to
/// the last bits of OpenCV's arithmetic. In a third of them the camera stands still. The others
/// move by 0.3 to 10 pixels per 192 of width, turn, zoom and tilt. Up to seven cut-outs move on
/// their own. Pictures may have noise, blur, another exposure, or brightness that rolls over them.
///
/// Thread-safe.
class PhotoScenes {
 public:
  struct Options {
    int width = 192;
    int height = 144;
    std::uint64_t seed = 0;
  };

  /// REQUIRES: width and height >= 64; at least one photograph, each with at least 16 pixels on
  /// each side.
  PhotoScenes(const Options& options, std::vector<Photograph> photographs);

  /// Pair `number` >= 0, of kind kMotion.
  [[nodiscard]] GeneratedPair Make(std::int64_t number) const;

 private:
  const Options options_;
  const std::vector<Photograph> photographs_;
};

}  // namespace millrace::pipeline
