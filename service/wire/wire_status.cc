#include "service/wire/wire_status.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/clock.h"
#include "service/overload/overload_text.h"
#include "service/wire/wire_states.h"
#include "service/wire/wire_time.h"

namespace millrace::service {
namespace {

std::string InWords(const std::string& name, std::string_view prefix, int number) {
  if (name.size() <= prefix.size()) return absl::StrCat(number);
  return absl::StrReplaceAll(absl::AsciiStrToLower(name.substr(prefix.size())), {{"_", " "}});
}

/// The problem that stops the predictions; empty without a problem.
Hindrance WhatStops(const v1::StreamStatus& status) {
  switch (status.learner_state()) {
    case v1::LEARNER_STATE_FAILED:
      return {.what = "learner failed", .why = status.learner_cause()};
    case v1::LEARNER_STATE_WAITING_FOR_RANKS:
      return {.what = "learner waiting for other hosts", .why = status.learner_cause()};
    case v1::LEARNER_STATE_PAUSED:
      return {.what = "learner paused"};
    case v1::LEARNER_STATE_ENDED:
      return {.what = "ended"};
    default:
      break;
  }
  if (status.source_state() == v1::SOURCE_STATE_STREAMING) return {};
  return {.what = absl::StrCat("source ", WordsOf(status.source_state())),
          .why = status.source_cause()};
}

Hindrance LearningGivenUp(const v1::StreamStatus& status) {
  constexpr char kWhat[] = "learning is given up";
  const std::string begin = absl::StrCat(kWhat, ": ");
  std::string why = status.learner_cause();
  if (why.starts_with(begin)) why.erase(0, begin.size());
  return {.what = kWhat, .why = std::move(why), .stops = false};
}

}  // namespace

v1::StreamStatus StatusOf(const ServedStream& served, const Prediction* newest) {
  const StreamSnapshot snapshot = served.stream->Snapshot();
  v1::StreamStatus status;
  status.set_stream(snapshot.name);
  status.set_source_state(ToWire(snapshot.source.state));
  status.set_source_cause(std::string(snapshot.source.cause.message()));
  status.set_learner_state(ToWire(snapshot.learner_state));
  status.set_learner_cause(LearnerCause(snapshot));
  status.set_overload(ToWire(snapshot.overload.kind));
  status.set_overload_cause(DescribeOverload(snapshot.overload));
  status.set_overload_remedy(DescribeRemedies(snapshot.overload));
  if (newest != nullptr) {
    const std::chrono::nanoseconds age = WallTime() - newest->emission_time;
    SetDuration(std::max(age, std::chrono::nanoseconds(0)), *status.mutable_prediction_age());
  }
  return status;
}

Hindrance HindranceOf(const v1::StreamStatus& status) {
  Hindrance hindrance = WhatStops(status);
  if (!hindrance.what.empty()) return hindrance;
  if (status.learner_state() == v1::LEARNER_STATE_GIVEN_UP) return LearningGivenUp(status);
  if (status.overload() < v1::OVERLOAD_KIND_ONLY_PREDICTS) return hindrance;
  return {.what = status.overload_cause(), .why = status.overload_remedy(), .stops = false};
}

std::string WordsOf(v1::SourceState state) {
  return InWords(v1::SourceState_Name(state), "SOURCE_STATE_", state);
}

std::string WordsOf(v1::LearnerState state) {
  return InWords(v1::LearnerState_Name(state), "LEARNER_STATE_", state);
}

}  // namespace millrace::service
