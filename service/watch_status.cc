#include "service/watch_status.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/status_notes.h"
#include "service/terminal.h"
#include "service/wire_status.h"

namespace millrace::service {
namespace {

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + static_cast<double>(duration.nanos()) / 1e9;
}

/// Where nothing is the matter and no prediction has come for so long, that is worth saying, too.
constexpr std::chrono::duration<double> kSilence = StatusNotes::kMostSilence;

}  // namespace

std::string StatusLine(const v1::StreamStatus& status) {
  const Hindrance what = HindranceOf(status);
  std::string line = absl::StrCat(
      status.stream(), "  ", what.what.empty() ? "source streaming" : what.what, ", ",
      status.has_prediction_age()
          ? absl::StrCat("last prediction ", DurationText(Seconds(status.prediction_age())), " ago")
          : "no prediction yet");
  if (!what.why.empty()) absl::StrAppend(&line, ": ", what.why);
  return OnOneLine(std::move(line));
}

bool KeepsWaiting(const v1::StreamStatus& status) {
  const bool is_over = status.source_state() == v1::SOURCE_STATE_ENDED ||
                       status.source_state() == v1::SOURCE_STATE_STOPPED;
  const bool silent =
      status.has_prediction_age() && Seconds(status.prediction_age()) >= kSilence.count();
  return !is_over && (silent || !HindranceOf(status).what.empty());
}

}  // namespace millrace::service
