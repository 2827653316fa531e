#include "ingest/state_log.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace millrace::ingest {
namespace {

// Of one outage. More would be a cause that carries a number, and no end of it.
constexpr std::size_t kMostCauses = 8;

}  // namespace

StateLog::StateLog(std::string shown, Of of, Told told)
    : shown_(std::move(shown)), of_(of), told_(std::move(told)) {}

void StateLog::Enter(SourceState to, const absl::Status& cause) {
  const std::string why(cause.message());
  Level level = Level::kDebug;
  {
    const MutexLock lock(mu_);
    level = LevelOf(to, why);
    state_ = to;
    ++entered_[static_cast<std::size_t>(to)];
  }
  if (told_) told_(to, cause);
  const std::string line =
      absl::StrCat(shown_, ": ", std::string(Name(to)), why.empty() ? "" : ": ", why,
                   to == SourceState::kBackingOff ? "; it is tried until it is there" : "");
  switch (level) {
    case Level::kDebug:
      return spdlog::debug("{}", line);
    case Level::kInfo:
      return spdlog::info("{}", line);
    case Level::kWarning:
      return spdlog::warn("{}", line);
    case Level::kError:
      return spdlog::error("{}", line);
  }
}

SourceStateCounts StateLog::entered() const {
  const MutexLock lock(mu_);
  return entered_;
}

StateLog::Level StateLog::LevelOf(SourceState to, const std::string& cause) {
  if (of_ == Of::kCamera) return LevelOfCamera(to, cause);
  const bool breaks_off = to == SourceState::kFailed && state_ == SourceState::kStreaming;
  return breaks_off ? Level::kError : Level::kDebug;
}

StateLog::Level StateLog::LevelOfCamera(SourceState to, const std::string& cause) {
  switch (to) {
    case SourceState::kConnecting:
      return state_ ? Level::kDebug : Level::kInfo;
    case SourceState::kStreaming:
      causes_.clear();
      return Level::kInfo;
    case SourceState::kStalled:
      return Level::kWarning;
    case SourceState::kBackingOff: {
      const bool is_new = causes_.size() < kMostCauses && causes_.insert(cause).second;
      return is_new ? Level::kWarning : Level::kDebug;
    }
    case SourceState::kFailed:
      return Level::kError;
    case SourceState::kEnded:
    case SourceState::kStopped:
      return Level::kDebug;
  }
  return Level::kDebug;
}

}  // namespace millrace::ingest
