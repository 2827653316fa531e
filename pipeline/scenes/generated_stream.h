// A video of any length whose motion is known exactly, made by the program itself.
//
// It lets a network learn to see motion before it meets a camera, and lets anybody measure how far
// a predicted flow is from the truth, for as long as a stream lasts. Its motion is synthetic: a
// figure from it must say so.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/random.h"
#include "pipeline/scenes/generated_scene.h"

namespace millrace::pipeline {

struct GeneratedPair {
  enum class Kind {
    kMotion,
    /// The picture before once more, as a stuck camera sends it: its flow is zero.
    kPause,
    /// The two pictures are of different scenes: the flow says nothing, and nothing is visible.
    kCut,
  };
  Kind kind = Kind::kMotion;
  /// [2, 1, height, width], previous then current: the bytes divided by 255.
  at::Tensor pictures;
  /// [1, 2, height, width], in pixels, indexed at the previous picture.
  at::Tensor flow;
  /// uint8 [1, 1, height, width]: 1 where what the previous picture shows is in the current one and
  /// nothing hides it there, else 0.
  at::Tensor visible;
  /// The pictures as a camera's: red, green, blue bytes, all alike, rows first.
  std::vector<std::uint8_t> previous_rgb;
  std::vector<std::uint8_t> current_rgb;
};

/// Neighbouring pairs of frames, one scene after another. The bytes and the flow are the same on
/// every machine.
///
/// Not thread-safe.
class GeneratedStream {
 public:
  enum class Scenes {
    /// To measure on: a camera that always moves, and three things.
    kAlike,
    /// To learn from: every second camera stands still, the others move at every pace, before up to
    /// eight things of every size.
    kVaried,
  };
  struct Options {
    int width = 192;
    int height = 144;
    std::uint64_t seed = 0;
    Scenes scenes = Scenes::kAlike;
    /// The mean motion, in pixels, of scenes alike; that of the fastest of varied ones.
    double speed = 2.75;
    /// Then another scene begins. Pauses do not count.
    int frames_per_scene = 750;
    /// The pair of the last frame of a scene and the first of the next is left out, unless it is to
    /// be there as a cut.
    bool cuts = false;
    /// After so many pairs of motion in a scene the picture stands still for `pause_pairs`. 0:
    /// never.
    int pause_every = 0;
    int pause_pairs = 20;
  };

  /// REQUIRES: width and height at least 16, frames_per_scene at least 2, speed and pauses not
  /// below 0.
  explicit GeneratedStream(const Options& options);

  GeneratedStream(const GeneratedStream&) = delete;
  GeneratedStream& operator=(const GeneratedStream&) = delete;

  [[nodiscard]] GeneratedPair Next();

 private:
  using Picture = std::vector<std::uint8_t>;

  // Where the stream stands: what the next pair shows.
  [[nodiscard]] GeneratedPair::Kind NextKind() const;
  void StartScene();
  [[nodiscard]] GeneratedPair PairOf(GeneratedPair::Kind kind, const Picture& current) const;

  const Options options_;
  Random random_;
  std::unique_ptr<GeneratedScene> scene_;
  Picture last_picture_;
  int frames_of_scene_ = 0;
  // Since the scene began or the last pause ended; and of the pause that goes on.
  int pairs_of_motion_ = 0;
  int pairs_of_pause_ = 0;
};

}  // namespace millrace::pipeline
