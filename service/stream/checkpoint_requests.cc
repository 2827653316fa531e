#include "service/stream/checkpoint_requests.h"

#include <algorithm>
#include <iterator>

#include "base/error_reason.h"
#include "base/log_about.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

constexpr std::size_t kMaxWaiting = 64;

}  // namespace

void CheckpointRequests::OnWritten(const pipeline::CheckpointWritten& written) {
  absl::StatusOr<std::string> answer = written.name;
  if (!written.status.ok()) answer = written.status;
  Waits answered;
  {
    const MutexLock lock(mu_);
    NoteInLog(written.status);
    if (written.answers > answered_) {
      answered_ = written.answers;
      answer_ = answer;
    }
    for (auto at = waits_.begin(); at != waits_.end();) {
      const auto next = std::next(at);
      if ((*at)->number && *(*at)->number <= written.answers) {
        answered.splice(answered.end(), waits_, at);
      }
      at = next;
    }
  }
  for (const SharedWait& wait : answered) wait->done(answer);
}

void CheckpointRequests::NoteInLog(const absl::Status& written) {
  if (written.ok() != last_.ok()) {
    const LogAbout about(stream_);
    if (written.ok()) {
      spdlog::info("stream '{}': checkpoints can be written again", stream_);
    } else {
      spdlog::error("stream '{}': {}; it goes on learning and tries again", stream_,
                    std::string(written.message()));
    }
  }
  last_ = written;
}

void CheckpointRequests::Ask(pipeline::Learner& learner, const std::stop_token& stop,
                             OnCheckpoint done) {
  const auto wait = std::make_shared<Wait>(std::move(done));
  if (const absl::Status added = Add(wait); !added.ok()) return wait->done(added);
  const absl::StatusOr<std::int64_t> number = learner.AskForCheckpoint();
  if (!number.ok()) return End(wait.get(), number.status());
  if (const auto known = Begin(*wait, *number)) return End(wait.get(), *known);
  // Runs at once if `stop` is already requested.
  wait->on_stop.emplace(stop, [this, wait = wait.get()] {
    End(wait, absl::CancelledError("no client waits for the checkpoint"));
  });
}

absl::Status CheckpointRequests::Add(const SharedWait& wait) {
  const MutexLock lock(mu_);
  if (!closed_.ok()) return closed_;
  if (waits_.size() >= kMaxWaiting) return TooManyChanges();
  waits_.push_back(wait);
  return absl::OkStatus();
}

std::optional<absl::StatusOr<std::string>> CheckpointRequests::Begin(Wait& wait,
                                                                     std::int64_t number) {
  const MutexLock lock(mu_);
  if (number <= answered_) return answer_;
  wait.number = number;
  return std::nullopt;
}

void CheckpointRequests::End(const Wait* wait, const absl::StatusOr<std::string>& result) {
  Waits ended;
  {
    const MutexLock lock(mu_);
    const auto found = std::find_if(waits_.begin(), waits_.end(), [wait](const SharedWait& other) {
      return other.get() == wait;
    });
    if (found == waits_.end()) return;
    ended.splice(ended.end(), waits_, found);
  }
  ended.front()->done(result);
}

CheckpointRequests::Waits CheckpointRequests::TakeAll() {
  const MutexLock lock(mu_);
  return std::exchange(waits_, {});
}

void CheckpointRequests::GiveUp(const absl::Status& why) {
  for (const SharedWait& wait : TakeAll()) wait->done(why);
}

void CheckpointRequests::Close(const absl::Status& why) {
  {
    const MutexLock lock(mu_);
    if (closed_.ok()) closed_ = why;
  }
  GiveUp(why);
}

}  // namespace millrace::service
