#include "service/stream/camera_stream.h"

#include <utility>

#include "base/status.h"
#include "service/stream/learner_lifecycle.h"
#include "service/stream/running_stream.h"

namespace millrace::service {

std::string LearnerCause(const StreamSnapshot& snapshot) {
  if (!snapshot.learner.ok()) return std::string(snapshot.learner.message());
  if (snapshot.learner_state == LearnerState::kWaitingForRanks) {
    return std::string(snapshot.interruption.message());
  }
  if (snapshot.learner_state != LearnerState::kGivenUp) return "";
  return std::string(
      GivenUp(snapshot.name, snapshot.optimizer.kind, snapshot.learning_rate).message());
}

absl::StatusOr<std::unique_ptr<CameraStream>> CameraStream::Start(Options options,
                                                                  const std::stop_token& stop) {
  auto stream = std::make_unique<RunningStream>(std::move(options));
  MILLRACE_RETURN_IF_ERROR(stream->Open(stop));
  return stream;
}

}  // namespace millrace::service
