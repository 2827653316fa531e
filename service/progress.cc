#include "service/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "service/terminal.h"

namespace millrace::service {
namespace {

/// What a line says, of one stream or of several.
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
          .loss = stream.loss,
          .loss_no_motion = stream.loss_no_motion};
}

Figures SumOf(std::span<const StreamSnapshot> streams) {
  Figures sum;
  for (const StreamSnapshot& stream : streams) {
    sum.dropped += stream.frames.dropped_in_all();
    sum.rate_in += stream.frames_per_second_in;
    sum.rate_out += stream.predictions_per_second;
    sum.delay_p50_s = std::max(sum.delay_p50_s, stream.delay_p50_s);
    sum.delay_p99_s = std::max(sum.delay_p99_s, stream.delay_p99_s);
    if (stream.labels) continue;  // Another loss, with nothing to compare it with.
    sum.loss += stream.loss;
    sum.loss_no_motion += stream.loss_no_motion;
  }
  return sum;
}

std::string Rate(double rate) {
  return rate < 99.95 ? absl::StrFormat("%.1f/s", rate) : absl::StrFormat("%.0f/s", rate);
}

// Both with the same unit, which stands once: "134 ms, p99 171".
std::string Delay(double p50_s, double p99_s) {
  if (p50_s <= 0) return "-";
  if (p99_s < 0.9995) return absl::StrFormat("%.0f ms, p99 %.0f", p50_s * 1e3, p99_s * 1e3);
  if (p99_s < 999.5) return absl::StrFormat("%.3g s, p99 %.3g", p50_s, p99_s);
  return "over 999 s";
}

std::string Ratio(const Figures& figures) {
  if (!(figures.loss_no_motion > 0)) return "-";
  const double ratio = figures.loss / figures.loss_no_motion;
  return ratio < 9.995 ? absl::StrFormat("%.2f", ratio) : "over 9";
}

/// Everything but what stands at the beginning of the line. `quality`: what predictions are worth.
std::string LineOf(const Figures& figures, std::string_view quality) {
  return absl::StrCat("  ", Rate(figures.rate_in), " in  ", Rate(figures.rate_out), " out  delay ",
                      Delay(figures.delay_p50_s, figures.delay_p99_s), "  ", std::string(quality),
                      "  dropped ", ShortCount(figures.dropped));
}

std::string Quality(const LabelCounts& labels) {
  const bool classes = labels.task == pipeline::LabelTask::kClassification;
  if (labels.scored == 0) return classes ? "right -" : "error -";
  return classes ? absl::StrFormat("right %.0f %%", 100 * labels.recent_score)
                 : absl::StrFormat("error %.3g", labels.recent_score);
}

std::string Quality(const StreamSnapshot& stream) {
  return stream.labels ? Quality(*stream.labels)
                       : absl::StrCat("loss ", Ratio(FiguresOf(stream)), " of no motion");
}

bool CameraIsAway(ingest::SourceState state) {
  return state == ingest::SourceState::kConnecting || state == ingest::SourceState::kStalled ||
         state == ingest::SourceState::kBackingOff;
}

/// What keeps the stream from learning, on one line; empty where nothing does.
std::string Trouble(const StreamSnapshot& stream) {
  std::string trouble;
  if (!stream.learner.ok()) {
    trouble = absl::StrCat("the learner failed: ", std::string(stream.learner.message()));
  } else if (stream.source.state == ingest::SourceState::kFailed) {
    trouble = absl::StrCat("the source failed: ", std::string(stream.source.cause.message()));
  } else if (CameraIsAway(stream.source.state)) {
    trouble = stream.source.cause.ok() ? "waiting for the camera"
                                       : absl::StrCat("the camera is away: ",
                                                      std::string(stream.source.cause.message()));
  }
  std::replace(trouble.begin(), trouble.end(), '\n', ' ');
  return trouble;
}

}  // namespace

std::string ShortCount(std::uint64_t count) {
  if (count < 100'000) return absl::StrCat(count);
  if (count < 100'000'000) return absl::StrCat(count / 1000, "k");
  if (count < 100'000'000'000) return absl::StrCat(count / 1'000'000, "M");
  return absl::StrCat(count / 1'000'000'000, "G");
}

std::string ProgressLine(const StreamSnapshot& stream) {
  const std::string trouble = Trouble(stream);
  const std::string frames = absl::StrCat("  ", ShortCount(stream.frames.predicted), " frames");
  return CutTo(frames + (trouble.empty() ? LineOf(FiguresOf(stream), Quality(stream))
                                         : absl::StrCat("  ", trouble)),
               kProgressColumns);
}

std::string ProgressLine(std::span<const StreamSnapshot> streams) {
  if (streams.size() == 1) return ProgressLine(streams.front());
  const auto troubled = std::count_if(streams.begin(), streams.end(),
                                      [](const auto& stream) { return !Trouble(stream).empty(); });
  std::string line = absl::StrCat("  ", streams.size(), " streams");
  if (troubled > 0) absl::StrAppend(&line, ", ", troubled, " not learning");
  const Figures sum = SumOf(streams);
  return CutTo(line + LineOf(sum, absl::StrCat("loss ", Ratio(sum))), kProgressColumns);
}

void ProgressPrinter::Show(std::span<const StreamSnapshot> streams, std::size_t columns) {
  if (rewrites_) {
    out_ << '\r' << CutTo(ProgressLine(streams), columns) << "\x1b[K" << std::flush;
    line_open_ = true;
    return;
  }
  for (const StreamSnapshot& stream : streams) {
    if (streams.size() > 1) out_ << stream.name << ':';
    out_ << ProgressLine(stream) << '\n';
  }
  out_ << std::flush;
}

void ProgressPrinter::Finish() {
  if (line_open_) out_ << '\n' << std::flush;
  line_open_ = false;
}

}  // namespace millrace::service
