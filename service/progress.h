// The one line that says how the server is doing: rewritten in place on a terminal, printed every
// few seconds elsewhere.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "service/camera_stream.h"

namespace millrace::service {

/// Columns that a progress line never exceeds.
inline constexpr std::size_t kProgressColumns = 100;

/// "412": up to five digits, then in thousands (k), millions (M), billions (G): "123k".
[[nodiscard]] std::string ShortCount(std::uint64_t count);

/// One stream in at most kProgressColumns: frames, rates, delay, loss (or how many of the last
/// labelled frames were predicted right), drops; where its source is
/// away or its learner has failed, that and why.
[[nodiscard]] std::string ProgressLine(const StreamSnapshot& stream);

/// All streams in one line: how many, rates and drops added up, the longest delays, the loss of all
/// together.
[[nodiscard]] std::string ProgressLine(std::span<const StreamSnapshot> streams);

/// Writes progress lines. For one thread; `out` must outlive it.
class ProgressPrinter {
 public:
  /// `rewrites`: `out` is a terminal.
  ProgressPrinter(std::ostream& out, bool rewrites) : out_(out), rewrites_(rewrites) {}

  /// On a terminal replaces the line by the streams' newest, cut to `columns`. Elsewhere prints a
  /// line for each stream.
  void Show(std::span<const StreamSnapshot> streams, std::size_t columns);

  /// Ends the line, so that what follows starts a new one.
  void Finish();

 private:
  // Constant after construction.
  std::ostream& out_;
  const bool rewrites_;

  bool line_open_ = false;
};

}  // namespace millrace::service
