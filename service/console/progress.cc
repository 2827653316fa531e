#include "service/console/progress.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "service/frames/explained.h"
#include "service/overload/overload_text.h"
#include "service/terminal/progress_bar.h"
#include "service/terminal/terminal.h"

namespace millrace::service {
namespace {

constexpr char kBetween[] = "  ";
constexpr int kCells = 8;
// Limit of a printed line, which does not wrap: the reason why a stream does not learn may be long.
constexpr std::size_t kPrintedColumns = 160;

/// Values of a progress line, for one stream or for all together.
struct Figures {
  std::uint64_t dropped = 0;
  double rate_in = 0;
  double rate_out = 0;
  double delay_p50_s = 0;
  double delay_p99_s = 0;
  double loss = 0;
  double loss_no_motion = 0;
};

Figures FiguresOf(const StreamSnapshot& stream) {
  return {.dropped = stream.frames.dropped_in_all(),
          .rate_in = stream.frames_per_second_in,
          .rate_out = stream.predictions_per_second,
          .delay_p50_s = stream.delay_p50_s,
          .delay_p99_s = stream.delay_p99_s,
          .loss = stream.recent.loss,
          .loss_no_motion = stream.recent.loss_no_motion};
}

Figures SumOf(std::span<const StreamSnapshot> streams) {
  Figures sum;
  for (const StreamSnapshot& stream : streams) {
    sum.dropped += stream.frames.dropped_in_all();
    sum.rate_in += stream.frames_per_second_in;
    sum.rate_out += stream.predictions_per_second;
    sum.delay_p50_s = std::max(sum.delay_p50_s, stream.delay_p50_s);
    sum.delay_p99_s = std::max(sum.delay_p99_s, stream.delay_p99_s);
    if (stream.labels) continue;                         // Its loss is of another kind.
    if (stream.recent.sees_spurious_motion()) continue;  // Noise is not explained.
    sum.loss += stream.recent.loss;
    sum.loss_no_motion += stream.recent.loss_no_motion;
  }
  return sum;
}

std::string Rate(double rate) {
  return rate < 99.95 ? absl::StrFormat("%.1f/s", rate) : absl::StrFormat("%.0f/s", rate);
}

std::string Delay(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 0.9995) return absl::StrFormat("%.0f ms", seconds * 1e3);
  if (seconds < 999.5) return absl::StrFormat("%.3g s", seconds);
  return "over 999 s";
}

using Parts = std::vector<std::string>;

/// As many whole parts as fit; the first part is cut if it does not fit.
std::string Joined(const Parts& parts, std::size_t columns) {
  std::string line;
  for (const std::string& part : parts) {
    if (!line.empty() && line.size() + std::size(kBetween) - 1 + part.size() > columns) break;
    absl::StrAppend(&line, kBetween, part);
  }
  return CutTo(std::move(line), columns);
}

/// Progress towards the limit of frames, and the time left at the current rate, if it is known.
struct Way {
  double share = 0;
  std::uint64_t done = 0;
  double seconds_left = 0;
};

std::string FramesText(std::uint64_t count) {
  return absl::StrCat(ShortCount(count), count == 1 ? " frame" : " frames");
}

Way WayOf(const StreamSnapshot& stream, std::uint64_t frames) {
  Way way{.done = std::min(stream.frames.predicted, frames)};
  way.share = static_cast<double>(way.done) / static_cast<double>(frames);
  if (stream.predictions_per_second > 0) {
    way.seconds_left = static_cast<double>(frames - way.done) / stream.predictions_per_second;
  }
  return way;
}

Parts PartsOf(const Way& way, std::uint64_t frames) {
  Parts parts = {absl::StrCat(BarText(way.share, kCells), " ", ShortCount(way.done), " of ",
                              FramesText(frames))};
  if (way.seconds_left > 0) parts.push_back(TimeLeftText(way.seconds_left));
  return parts;
}

/// Appends everything after the start of the line. `quality`: a text on the predictions' quality.
void Append(Parts& parts, const Figures& figures, std::string quality, bool verbose) {
  parts.insert(
      parts.end(),
      {absl::StrCat(Rate(figures.rate_in), " in"), absl::StrCat(Rate(figures.rate_out), " out"),
       absl::StrCat("delay ", Delay(figures.delay_p50_s),
                    verbose ? absl::StrCat(", p99 ", Delay(figures.delay_p99_s)) : ""),
       absl::StrCat("dropped ", ShortCount(figures.dropped)), std::move(quality)});
}

std::string Quality(const LabelCounts& labels) {
  const bool classes = labels.task == pipeline::LabelTask::kClassification;
  if (labels.scored == 0) return classes ? "right -" : "error -";
  return classes ? absl::StrFormat("right %.0f %%", 100 * labels.recent_score)
                 : absl::StrFormat("error %.3g", labels.recent_score);
}

// The explained share of the motion; "of the motion" is left out for lack of room.
std::string Explained(double loss, double loss_no_motion, bool spurious = false) {
  return spurious ? "explains only noise"
                  : absl::StrCat("explains ", ExplainedShare(loss, loss_no_motion));
}

std::string Quality(const StreamSnapshot& stream) {
  if (stream.labels) return Quality(*stream.labels);
  return Explained(stream.recent.loss, stream.recent.loss_no_motion,
                   stream.recent.sees_spurious_motion());
}

/// Why the stream does not learn, on one line; empty if it learns.
std::string Trouble(const StreamSnapshot& stream) {
  std::string trouble;
  if (!stream.learner.ok()) {
    trouble = absl::StrCat("the learner failed: ", std::string(stream.learner.message()));
  } else if (stream.learner_state == LearnerState::kWaitingForRanks) {
    trouble = std::string(stream.interruption.message());
  } else if (stream.source.state == ingest::SourceState::kFailed) {
    trouble = absl::StrCat("the source failed: ", std::string(stream.source.cause.message()));
  } else if (stream.source.state == ingest::SourceState::kWaiting) {
    trouble = "no client pushes frames";
  } else if (IsAway(stream.source.state)) {
    trouble = stream.source.cause.ok() ? "waiting for the camera"
                                       : absl::StrCat("the camera is away: ",
                                                      std::string(stream.source.cause.message()));
  }
  return OnOneLine(std::move(trouble));
}

/// Work that is dropped for lack of time, unless the plan expects it.
std::string Overloaded(const StreamSnapshot& stream) {
  const bool planned = stream.overload.kind == OverloadKind::kLearnsLess;
  return planned ? "" : DescribeOverload(stream.overload);
}

}  // namespace

std::string ShortCount(std::uint64_t count) {
  if (count < 100'000) return absl::StrCat(count);
  if (count < 10'000'000) return absl::StrCat(count / 1000, "k");
  if (count < 10'000'000'000) return absl::StrCat(count / 1'000'000, "M");
  if (count < 10'000'000'000'000) return absl::StrCat(count / 1'000'000'000, "G");
  return absl::StrCat(count / 1'000'000'000'000, "T");
}

std::string ProgressLine(const StreamSnapshot& stream, const ProgressOptions& options) {
  Parts parts = {FramesText(stream.frames.predicted)};
  if (options.frames > 0) parts = PartsOf(WayOf(stream, options.frames), options.frames);
  if (const std::string trouble = Trouble(stream); !trouble.empty()) {
    return CutTo(absl::StrCat(kBetween, parts.front(), kBetween, trouble), options.columns);
  }
  if (std::string overloaded = Overloaded(stream); !overloaded.empty()) {
    parts.push_back(std::move(overloaded));
  }
  Append(parts, FiguresOf(stream), Quality(stream), options.verbose);
  return Joined(parts, options.columns);
}

std::string ProgressLine(std::span<const StreamSnapshot> streams, const ProgressOptions& options) {
  if (streams.size() == 1) return ProgressLine(streams.front(), options);
  const auto troubled = std::count_if(streams.begin(), streams.end(),
                                      [](const auto& stream) { return !Trouble(stream).empty(); });
  std::string count = absl::StrCat(streams.size(), " streams");
  if (troubled > 0) absl::StrAppend(&count, ", ", troubled, " not learning");
  const auto overloaded = std::ranges::count_if(
      streams, [](const auto& stream) { return !Overloaded(stream).empty(); });
  if (overloaded > 0) absl::StrAppend(&count, ", ", overloaded, " overloaded");
  Parts parts;
  if (options.frames > 0 && !streams.empty()) {
    Way longest = WayOf(streams.front(), options.frames);
    for (const StreamSnapshot& stream : streams) {
      const Way way = WayOf(stream, options.frames);
      longest.seconds_left = std::max(longest.seconds_left, way.seconds_left);
      longest.done = std::min(longest.done, way.done);
      longest.share = std::min(longest.share, way.share);
    }
    parts = PartsOf(longest, options.frames);
  }
  parts.push_back(std::move(count));
  const Figures sum = SumOf(streams);
  Append(parts, sum, Explained(sum.loss, sum.loss_no_motion), options.verbose);
  return Joined(parts, options.columns);
}

void ProgressPrinter::Show(std::span<const StreamSnapshot> streams, std::size_t columns) {
  options_.columns = rewrites_ ? columns : kPrintedColumns;
  if (rewrites_) {
    out_ << '\r' << ProgressLine(streams, options_) << "\x1b[K" << std::flush;
    line_open_ = true;
    return;
  }
  for (const StreamSnapshot& stream : streams) {
    if (streams.size() > 1) out_ << stream.name << ':';
    out_ << ProgressLine(stream, options_) << '\n';
  }
  out_ << std::flush;
}

void ProgressPrinter::Finish() {
  if (line_open_) out_ << '\n' << std::flush;
  line_open_ = false;
}

}  // namespace millrace::service
