#include "service/checkpoint_requests.h"

#include "base/status.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

// A stop may come between looking and waiting.
constexpr std::chrono::milliseconds kLookAgain(100);

}  // namespace

void CheckpointRequests::OnWritten(const absl::Status& written) {
  const MutexLock lock(mu_);
  if (written.ok() != last_.ok()) {
    if (written.ok()) {
      spdlog::info("stream '{}': checkpoints can be written again", stream_);
    } else {
      spdlog::error("stream '{}': {}; it goes on learning and tries again", stream_,
                    std::string(written.message()));
    }
  }
  ++tried_;
  last_ = written;
  changed_.notify_all();
}

absl::Status CheckpointRequests::AskAndWait(pipeline::Learner& learner,
                                            const std::stop_token& stop) {
  std::int64_t tried = 0;
  {
    const MutexLock lock(mu_);
    tried = tried_;
  }
  MILLRACE_RETURN_IF_ERROR(learner.AskForCheckpoint());
  const std::stop_callback wake(stop, [this] { changed_.notify_all(); });
  const MutexLock lock(mu_);
  while (tried_ == tried) {
    if (stop.stop_requested()) return absl::CancelledError("nobody waits for the checkpoint");
    if (closed_) return absl::CancelledError("the stream has ended meanwhile");
    changed_.wait_for(mu_, kLookAgain);
  }
  return last_;
}

void CheckpointRequests::Close() {
  const MutexLock lock(mu_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace millrace::service
