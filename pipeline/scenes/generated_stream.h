// A generated video of any length with exactly known motion.
//
// A network can learn motion from it before it sees a camera. A predicted flow can be compared with
// the truth for as long as a stream lasts. Its motion is synthetic; a published result must say so.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "pipeline/scenes/generated_pair.h"
#include "pipeline/scenes/generated_scene.h"

namespace millrace::pipeline {

/// Pairs of consecutive frames, one scene after another. Bytes and flow are identical on every
/// machine. Not thread-safe.
class GeneratedStream {
 public:
  enum class Scenes {
    /// For measurements: a camera that always moves, and three things.
    kAlike,
    /// For learning: every second camera is fixed. The others move at any pace, before up to eight
    /// things of any size.
    kVaried,
  };
  struct Options {
    int width = 192;
    int height = 144;
    std::uint64_t seed = 0;
    Scenes scenes = Scenes::kAlike;
    /// The mean motion, in pixels, for kAlike; the fastest camera's for kVaried.
    double speed = 2.75;
    /// The length of a scene, without pauses.
    int frames_per_scene = 750;
    /// Whether the pair across two scenes appears, as a cut; otherwise it is left out.
    bool cuts = false;
    /// After this number of motion pairs in a scene, the picture pauses for `pause_pairs`. 0:
    /// never.
    int pause_every = 0;
    int pause_pairs = 20;
  };

  /// REQUIRES: width and height >= 16, frames_per_scene >= 2, speed and pauses >= 0.
  explicit GeneratedStream(const Options& options);

  GeneratedStream(const GeneratedStream&) = delete;
  GeneratedStream& operator=(const GeneratedStream&) = delete;

  [[nodiscard]] GeneratedPair Next();

 private:
  using Picture = std::vector<std::uint8_t>;

  // What the next pair shows.
  [[nodiscard]] GeneratedPair::Kind NextKind() const;
  void StartScene();

  const Options options_;
  Random random_;
  std::unique_ptr<GeneratedScene> scene_;
  Picture last_picture_;
  int frames_of_scene_ = 0;
  // Pairs since the scene began or the last pause ended; pairs of the current pause.
  int pairs_of_motion_ = 0;
  int pairs_of_pause_ = 0;
};

}  // namespace millrace::pipeline
