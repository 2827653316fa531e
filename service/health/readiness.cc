#include "service/health/readiness.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

/// Why the source delivers no frames; empty while it does.
std::string WhyNoPictures(const ingest::SourceStatus& source) {
  switch (source.state) {
    case ingest::SourceState::kStreaming:
      return "";
    case ingest::SourceState::kWaiting:
      return "waiting for frames";
    case ingest::SourceState::kConnecting:
    case ingest::SourceState::kStalled:
    case ingest::SourceState::kBackingOff:
      return absl::StrCat("the camera is away, ", std::string(ingest::Name(source.state)));
    case ingest::SourceState::kEnded:
      return "the source has ended";
    case ingest::SourceState::kFailed:
      return "the source failed";
    case ingest::SourceState::kStopped:
      return "the stream was stopped";
  }
  return "the source is in an unknown state";
}

/// A line about a stream with a failed learner, or without hosts or frames; else empty.
std::string LineOf(const StreamSnapshot& stream) {
  if (!stream.learner.ok()) {
    return absl::StrCat(stream.name,
                        ": the learner failed: ", std::string(stream.learner.message()), "\n");
  }
  if (stream.learner_state == LearnerState::kWaitingForRanks) {
    return absl::StrCat(stream.name, ": ", std::string(stream.interruption.message()), "\n");
  }
  const std::string why = WhyNoPictures(stream.source);
  if (why.empty()) return "";
  const absl::Status& cause = stream.source.cause;
  return absl::StrCat(stream.name, ": ", why, cause.ok() ? "" : ": ", std::string(cause.message()),
                      "\n");
}

}  // namespace

Readiness JudgeReadiness(const std::vector<StreamSnapshot>& streams, bool stopping,
                         const std::string& unreachable) {
  const bool works = streams.empty() || std::ranges::any_of(streams, [](const auto& stream) {
                       return stream.learner.ok();
                     });
  Readiness readiness = {.ready = works && !stopping && unreachable.empty(),
                         .text = absl::StrCat(stopping ? "server: stopping\n" : "", unreachable)};
  if (readiness.ready) readiness.text = "ready\n";
  for (const StreamSnapshot& stream : streams) readiness.text += LineOf(stream);
  return readiness;
}

}  // namespace millrace::service
