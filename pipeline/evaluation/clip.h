// What a learner of optical flow is evaluated on: pairs of neighbouring pictures of a stream, with
// the true motion where it is known.
//
// A clip is read from its begin as often as there is something to evaluate on it, and is the same
// each time. So no clip has to fit into memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// The true motion of a pair, at its own size, which may differ from the pictures'.
struct TrueFlow {
  int width = 0;
  int height = 0;
  /// (dx, dy) for every pixel, rows first: in pixels of this size, from the previous picture to the
  /// current one, indexed at the previous.
  std::vector<float> flow = {};
  /// One byte a pixel, 0 where the truth is unknown. Empty: it is known everywhere.
  std::vector<std::uint8_t> known = {};
  /// One byte a pixel, 0 where what the previous picture shows is hidden in the current one or has
  /// left it. Empty: nobody said.
  std::vector<std::uint8_t> visible = {};
};

/// Red, green, blue bytes, rows first. Shared: a picture is in two pairs.
using Rgb = std::shared_ptr<const std::vector<std::uint8_t>>;

struct ClipPair {
  /// Counts from 0.
  std::int64_t number = 0;
  /// Of the current picture: the stream's own clock.
  std::chrono::nanoseconds stream_time{0};
  Rgb previous;
  Rgb current;
  /// The one before `previous`. Null: the clip has pairs alone.
  Rgb before = nullptr;
  /// Null: nobody knows.
  std::shared_ptr<const TrueFlow> truth = nullptr;
};

/// One reading of a clip. For one thread.
class Clip {
 public:
  virtual ~Clip() = default;

  /// The next pair; nullopt at the end.
  [[nodiscard]] virtual absl::StatusOr<std::optional<ClipPair>> Next() = 0;
};

/// A clip that can be read.
struct ClipSource {
  /// As tables show it.
  std::string name;
  /// Of the pictures, in pixels.
  int width = 0;
  int height = 0;
  /// Starts to read from the begin. Thread-safe.
  std::function<absl::StatusOr<std::unique_ptr<Clip>>()> open;
  /// Whether each pair has the picture before.
  bool with_before = false;
};

/// What to say of a clip without any pair.
[[nodiscard]] absl::Status NoPairs(const ClipSource& source);

/// The first `pairs` of `source`; 0: all.
[[nodiscard]] ClipSource FirstPairs(ClipSource source, std::int64_t pairs);

/// The pairs of its first `length`, by the stream's own clock.
[[nodiscard]] ClipSource FirstPart(ClipSource source, std::chrono::nanoseconds length);

/// What the next frame is foretold and judged on: the pairs of `source` whose previous picture is
/// the current one of the pair before, each with the picture before those, numbered anew. So the
/// first pair of a clip, and of each of its scenes that begins without a cut, is left out.
[[nodiscard]] ClipSource WithPictureBefore(ClipSource source);

}  // namespace millrace::pipeline
