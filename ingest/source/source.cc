#include "ingest/source/source.h"

#include "base/check.h"
#include "ingest/source/uri.h"

namespace millrace::ingest {

std::string_view Name(SourceState state) {
  switch (state) {
    case SourceState::kConnecting:
      return "connecting";
    case SourceState::kWaiting:
      return "waiting";
    case SourceState::kStreaming:
      return "streaming";
    case SourceState::kStalled:
      return "stalled";
    case SourceState::kBackingOff:
      return "backing off";
    case SourceState::kEnded:
      return "ended";
    case SourceState::kFailed:
      return "failed";
    case SourceState::kStopped:
      return "stopped";
  }
  MILLRACE_CHECK(false);
}

bool IsAway(SourceState state) {
  return state == SourceState::kConnecting || state == SourceState::kWaiting ||
         state == SourceState::kStalled || state == SourceState::kBackingOff;
}

bool IsLive(const SourceOptions& options) {
  const absl::StatusOr<Uri> uri = ParseUri(options.uri);
  return options.as_camera || (uri.ok() && KindOf(*uri) != SourceKind::kFile);
}

bool CanWait(const SourceOptions& options) {
  const absl::StatusOr<Uri> uri = ParseUri(options.uri);
  if (options.as_camera || !uri.ok()) return false;
  return KindOf(*uri) == SourceKind::kFile || KindOf(*uri) == SourceKind::kPush;
}

WhenFull WhenFullOf(const SourceOptions& options) {
  return options.when_full.value_or(CanWait(options) ? WhenFull::kWait : WhenFull::kDropOldest);
}

}  // namespace millrace::ingest
