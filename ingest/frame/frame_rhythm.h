// How far apart a camera's frames come, for who judges that they stay away.
//
// Neither what a camera announces nor its last interval will do. Many announce nothing, or what is
// not true; TCP delivers frames in bunches, with next to nothing between them; and an outage that
// was got over is one long interval, which says nothing of the next.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace millrace::ingest {

/// The longest of the last eight intervals, but for one in which frames had stalled: one is a
/// fault, two are the camera's way. Until there are eight, at least what the camera announces.
/// Not thread-safe.
class FrameRhythm {
 public:
  /// `unknown` is the interval of a camera that has announced none. Slower cameras than `slowest`
  /// have to announce it: else a dying one could take longer and longer.
  FrameRhythm(std::chrono::nanoseconds unknown, std::chrono::nanoseconds slowest)
      : unknown_(unknown), slowest_(slowest) {}

  /// The camera says how often it sends frames. Where that is news, what was seen is forgotten.
  void Announce(std::chrono::nanoseconds interval);
  /// A frame came so long after the one before. `stalled`: that had been given up waiting for.
  void Add(std::chrono::nanoseconds interval, bool stalled);
  /// Another session: nothing is known.
  void Restart();

  /// The next frame may take so long.
  [[nodiscard]] std::chrono::nanoseconds Interval() const;

 private:
  struct Seen {
    std::chrono::nanoseconds interval;
    bool stalled;
  };

  // Constant after construction.
  const std::chrono::nanoseconds unknown_;
  const std::chrono::nanoseconds slowest_;

  std::optional<std::chrono::nanoseconds> announced_;
  std::deque<Seen> seen_;  ///< The last ones.
};

}  // namespace millrace::ingest
