#include "ingest/source.h"

#include "base/check.h"

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

}  // namespace millrace::ingest
