// The line that shows the server's progress: rewritten in place on a terminal, printed every few
// seconds elsewhere.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "service/stream/camera_stream.h"

namespace millrace::service {

/// The default limit of a progress line's columns.
inline constexpr std::size_t kProgressColumns = 100;

/// "412"; numbers that need more than five characters in thousands (k), millions (M) and so on:
/// "123k".
[[nodiscard]] std::string ShortCount(std::uint64_t count);

struct ProgressOptions {
  /// The line's limit. A value that does not fit is left out.
  std::size_t columns = kProgressColumns;
  /// The number of predictions per stream after which the server ends: the line is then a bar with
  /// the time left. 0: no limit.
  std::uint64_t frames = 0;
  /// Adds the 99th percentile of the delay.
  bool verbose = false;
};

/// One stream: frames, rates, delay, quality, drops. Quality is the explained share of the motion,
/// or the share of correct predictions over the last labelled frames. If the source is away or the
/// learner has failed, the line shows that with its reason. Everything but a bar fits into
/// kProgressColumns.
[[nodiscard]] std::string ProgressLine(const StreamSnapshot& stream,
                                       const ProgressOptions& options = {});

/// All streams in one line: their number, summed rates and drops, the longest delays, the joint
/// loss. A bar shows the stream that has the most left to do.
[[nodiscard]] std::string ProgressLine(std::span<const StreamSnapshot> streams,
                                       const ProgressOptions& options = {});

/// Prints progress lines. For one thread; `out` must outlive it.
class ProgressPrinter {
 public:
  /// `rewrites`: `out` is a terminal. Show() sets `options.columns`.
  ProgressPrinter(std::ostream& out, bool rewrites, const ProgressOptions& options = {})
      : out_(out), rewrites_(rewrites), options_(options) {}

  /// On a terminal, replaces the line by a new one of at most `columns`. Elsewhere, prints one line
  /// for each stream.
  void Show(std::span<const StreamSnapshot> streams, std::size_t columns);

  /// Ends the line, so that later output starts on a new line.
  void Finish();

 private:
  // Constant after construction.
  std::ostream& out_;
  const bool rewrites_;

  ProgressOptions options_;
  bool line_open_ = false;
};

}  // namespace millrace::service
