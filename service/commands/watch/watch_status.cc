#include "service/commands/watch/watch_status.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/subscriptions/status_notes.h"
#include "service/terminal/terminal.h"
#include "service/wire/wire_status.h"

namespace millrace::service {
namespace {

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + static_cast<double>(duration.nanos()) / 1e9;
}

/// Silence of this length is reported even without a known problem.
constexpr std::chrono::duration<double> kSilence = StatusNotes::kMaxSilence;

bool IsOver(const v1::StreamStatus& status) {
  return status.source_state() == v1::SOURCE_STATE_ENDED ||
         status.source_state() == v1::SOURCE_STATE_STOPPED;
}

bool IsSilent(const v1::StreamStatus& status) {
  return status.has_prediction_age() && Seconds(status.prediction_age()) >= kSilence.count();
}

/// The time since the last prediction.
std::string Silence(const v1::StreamStatus& status) {
  if (!status.has_prediction_age()) return ", no prediction yet";
  return absl::StrCat(", last prediction ", DurationText(Seconds(status.prediction_age())), " ago");
}

std::string LineOf(const v1::StreamStatus& status, const Hindrance& hindrance) {
  std::string line = absl::StrCat(status.stream(), "  ",
                                  hindrance.what.empty() ? "source streaming" : hindrance.what,
                                  hindrance.stops ? Silence(status) : "");
  if (!hindrance.why.empty()) absl::StrAppend(&line, ": ", hindrance.why);
  return OnOneLine(std::move(line));
}

std::string OverloadInWords(const v1::StreamStatus& status) {
  if (status.overload_cause().empty()) return "the overload is over";
  return absl::StrCat(status.overload_cause(), ": ", status.overload_remedy());
}

}  // namespace

std::optional<std::string> StatusLines::Next(const v1::StreamStatus& status) {
  if (IsOver(status)) return std::nullopt;
  const Hindrance hindrance = HindranceOf(status);
  if (!hindrance.what.empty() && hindrance.stops) return LineOf(status, hindrance);
  if (GaveUpOrGoesOn(status.learner_state())) {
    return gave_up_ ? LineOf(status, hindrance) : absl::StrCat(status.stream(), "  learns again");
  }
  if (IsNews(status.overload())) {
    overload_ = status.overload();
    return OnOneLine(absl::StrCat(status.stream(), "  ", OverloadInWords(status)));
  }
  return IsSilent(status) ? std::optional(LineOf(status, {})) : std::nullopt;
}

// A frozen or paused learner has not resumed learning.
bool StatusLines::GaveUpOrGoesOn(v1::LearnerState learner) {
  const bool changed =
      learner == (gave_up_ ? v1::LEARNER_STATE_LEARNING : v1::LEARNER_STATE_GIVEN_UP);
  if (changed) gave_up_ = !gave_up_;
  return changed;
}

bool StatusLines::IsNews(v1::OverloadKind overload) const {
  const bool as_planned = overload < v1::OVERLOAD_KIND_ONLY_PREDICTS;
  if (overload_ == v1::OVERLOAD_KIND_NONE && as_planned) return false;
  return overload != overload_;
}

}  // namespace millrace::service
