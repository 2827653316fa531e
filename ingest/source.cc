#include "ingest/source.h"

#include "base/check.h"
#include "ingest/uri.h"

namespace millrace::ingest {

std::string_view Name(SourceState state) {
  switch (state) {
    case SourceState::kConnecting:
      return "connecting";
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

bool IsLive(const SourceOptions& options) {
  const absl::StatusOr<Uri> uri = ParseUri(options.uri);
  return options.as_camera || (uri.ok() && KindOf(*uri) != SourceKind::kFile);
}

WhenFull WhenFullOf(const SourceOptions& options) {
  return options.when_full.value_or(IsLive(options) ? WhenFull::kDropOldest : WhenFull::kWait);
}

}  // namespace millrace::ingest
