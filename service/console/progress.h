// The one line that says how the server is doing: rewritten in place on a terminal, printed every
// few seconds elsewhere.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "service/stream/camera_stream.h"

namespace millrace::service {

/// Columns that a progress line never exceeds.
inline constexpr std::size_t kProgressColumns = 100;

/// "412": five characters at most; in thousands (k), millions (M) and so on where it needs more:
/// "123k".
[[nodiscard]] std::string ShortCount(std::uint64_t count);

struct ProgressOptions {
  /// Whole figures, as many as fit.
  std::size_t columns = kProgressColumns;
  /// Predictions of each stream after which the server ends: then the line is a bar with the time
  /// left. 0: it goes on.
  std::uint64_t frames = 0;
};

/// One stream: frames, rates, delay, how much of the motion is explained (or how many of the last
/// labelled frames were predicted right), drops; where its source is away or its learner has
/// failed, that and why. In kProgressColumns there is room for all of it, but for a bar.
[[nodiscard]] std::string ProgressLine(const StreamSnapshot& stream,
                                       const ProgressOptions& options = {});

/// All streams in one line: how many, rates and drops added up, the longest delays, the loss of all
/// together. A bar is of the one that has the longest way to go.
[[nodiscard]] std::string ProgressLine(std::span<const StreamSnapshot> streams,
                                       const ProgressOptions& options = {});

/// Writes progress lines. For one thread; `out` must outlive it.
class ProgressPrinter {
 public:
  /// `rewrites`: `out` is a terminal. `frames`: as ProgressOptions has it.
  ProgressPrinter(std::ostream& out, bool rewrites, std::uint64_t frames = 0)
      : out_(out), rewrites_(rewrites), frames_(frames) {}

  /// On a terminal replaces the line by the streams' newest, in `columns`. Elsewhere prints a line
  /// for each stream.
  void Show(std::span<const StreamSnapshot> streams, std::size_t columns);

  /// Ends the line, so that what follows starts a new one.
  void Finish();

 private:
  // Constant after construction.
  std::ostream& out_;
  const bool rewrites_;
  const std::uint64_t frames_;

  bool line_open_ = false;
};

}  // namespace millrace::service
