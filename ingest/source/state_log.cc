#include "ingest/source/state_log.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log_about.h"

namespace millrace::ingest {
namespace {

constexpr std::size_t kMaxCauses = 8;

/// The start of a line. It names the stream, because several streams may show the same source.
std::string BeginningOf(const std::string& stream, const std::string& shown) {
  return stream.empty() ? shown : absl::StrCat("stream '", stream, "': ", shown);
}

std::string Text(const std::string& shown, SourceState state, const std::string& why) {
  return absl::StrCat(shown, ": ", std::string(Name(state)), why.empty() ? "" : ": ", why,
                      state == SourceState::kBackingOff ? "; it is tried until it is there" : "");
}

}  // namespace

StateLog::StateLog(const std::string& shown, Kind kind, OnState on_state, std::string stream)
    : shown_(BeginningOf(stream, shown)),
      kind_(kind),
      on_state_(std::move(on_state)),
      stream_(std::move(stream)) {}

void StateLog::Enter(SourceState to, const absl::Status& cause) {
  const std::string why(cause.message());
  const MutexLock lock(mu_);
  pending_.push_back(
      {.level = LevelOf(to, why), .text = Text(shown_, to, why), .entered = to, .cause = cause});
  state_ = to;
  ++entered_[static_cast<std::size_t>(to)];
}

void StateLog::Hold() {
  const MutexLock lock(mu_);
  if (causes_.empty()) return;
  causes_.clear();
  pending_.push_back({.level = Level::kInfo, .text = Text(shown_, SourceState::kStreaming, "")});
}

void StateLog::Warn(const std::string& what) {
  const MutexLock lock(mu_);
  pending_.push_back({.level = Level::kWarning, .text = absl::StrCat(shown_, ": ", what)});
}

void StateLog::Log() {
  const MutexLock in_order(log_mu_);
  std::vector<Line> lines;
  {
    const MutexLock lock(mu_);
    lines = std::exchange(pending_, {});
  }
  const LogAbout about(stream_);
  for (const Line& line : lines) {
    if (line.entered && on_state_) on_state_(*line.entered, line.cause);
    switch (line.level) {
      case Level::kDebug:
        spdlog::debug("{}", line.text);
        break;
      case Level::kInfo:
        spdlog::info("{}", line.text);
        break;
      case Level::kWarning:
        spdlog::warn("{}", line.text);
        break;
      case Level::kError:
        spdlog::error("{}", line.text);
        break;
    }
  }
}

bool StateLog::has_pending() const {
  const MutexLock lock(mu_);
  return !pending_.empty();
}

SourceState StateLog::state() const {
  const MutexLock lock(mu_);
  return state_.value_or(SourceState::kConnecting);
}

SourceStateCounts StateLog::entered() const {
  const MutexLock lock(mu_);
  return entered_;
}

StateLog::Level StateLog::LevelOf(SourceState to, const std::string& cause) {
  if (kind_ == Kind::kCamera) return LevelOfCamera(to, cause);
  if (kind_ == Kind::kPushed) return LevelOfPushed(to);
  const bool breaks_off = to == SourceState::kFailed && state_ == SourceState::kStreaming;
  return breaks_off ? Level::kError : Level::kDebug;
}

StateLog::Level StateLog::LevelOfPushed(SourceState to) const {
  const bool comes = to == SourceState::kStreaming;
  const bool goes = state_ == SourceState::kStreaming && to != SourceState::kStopped;
  return comes || goes ? Level::kInfo : Level::kDebug;
}

StateLog::Level StateLog::LevelOfCamera(SourceState to, const std::string& cause) {
  switch (to) {
    case SourceState::kConnecting:
      return state_ ? Level::kDebug : Level::kInfo;
    case SourceState::kStreaming:
      return causes_.empty() ? Level::kInfo : Level::kDebug;
    case SourceState::kStalled:
    case SourceState::kBackingOff: {
      const bool is_new = causes_.size() < kMaxCauses && causes_.insert(cause).second;
      return is_new ? Level::kWarning : Level::kDebug;
    }
    case SourceState::kFailed:
      return Level::kError;
    case SourceState::kWaiting:
    case SourceState::kEnded:
    case SourceState::kStopped:
      return Level::kDebug;
  }
  return Level::kDebug;
}

}  // namespace millrace::ingest
