// The input of an evaluation of optical flow: pairs of neighbouring pictures of a stream, with the
// true motion where it is known.
//
// Each evaluation reads a clip from its start again, and gets the same pairs. So a clip need not
// fit into memory.
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

/// The true motion of a pair. Its size may differ from the pictures' size.
struct TrueFlow {
  int width = 0;
  int height = 0;
  /// (dx, dy) for every pixel, rows first: in pixels of this size, from the previous picture to the
  /// current one, indexed at the previous.
  std::vector<float> flow = {};
  /// One byte for each pixel, 0 where the truth is unknown. Empty: it is known everywhere.
  std::vector<std::uint8_t> known = {};
  /// One byte for each pixel of the previous picture, 0 where it is hidden in the current one or
  /// has left it. Empty: unknown.
  std::vector<std::uint8_t> visible = {};
};

/// Red, green, blue bytes, rows first. Shared: a picture is in two pairs.
using Rgb = std::shared_ptr<const std::vector<std::uint8_t>>;

struct ClipPair {
  /// Counts from 0.
  std::int64_t number = 0;
  /// The time of the current picture, on the stream's own clock.
  std::chrono::nanoseconds stream_time{0};
  Rgb previous;
  Rgb current;
  /// The picture before `previous`. Null: the clip has only pairs.
  Rgb before = nullptr;
  /// Null: unknown.
  std::shared_ptr<const TrueFlow> truth = nullptr;
};

/// One reader of a clip. For one thread.
class Clip {
 public:
  virtual ~Clip() = default;

  /// The next pair; nullopt at the end.
  [[nodiscard]] virtual absl::StatusOr<std::optional<ClipPair>> Next() = 0;
};

/// A clip that can be opened repeatedly.
struct ClipSource {
  /// The name in tables.
  std::string name;
  /// The size of the pictures, in pixels.
  int width = 0;
  int height = 0;
  /// Opens the clip at its start. Thread-safe.
  std::function<absl::StatusOr<std::unique_ptr<Clip>>()> open;
  /// Whether each pair has the picture before.
  bool with_before = false;
};

/// The error for a clip without pairs.
[[nodiscard]] absl::Status NoPairs(const ClipSource& source);

/// The first `pairs` pairs of `source`; 0: all.
[[nodiscard]] ClipSource FirstPairs(ClipSource source, std::int64_t pairs);

/// The pairs of the first `length` of `source`, by the stream's own clock.
[[nodiscard]] ClipSource FirstPart(ClipSource source, std::chrono::nanoseconds length);

/// The triples for predicting the next frame: the pairs of `source` that continue the pair before,
/// each with the picture before, renumbered. So the first pair of a clip is left out. The first
/// pair of each scene that begins without a cut is left out, too.
[[nodiscard]] ClipSource WithPictureBefore(ClipSource source);

}  // namespace millrace::pipeline
