#include "service/registry/served_stream.h"

#include <random>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

std::string RandomId() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
}

}  // namespace

ServedStream::ServedStream(std::shared_ptr<StreamRecord> the_record,
                           std::shared_ptr<CameraStream> the_stream,
                           StreamEventLog::Incarnation the_incarnation, HeldMemory the_memory)
    : run_id(RandomId()),
      incarnation(the_incarnation),
      memory(std::move(the_memory)),
      record(std::move(the_record)),
      stream(std::move(the_stream)),
      learner_as_made(stream->learner()),
      pictures(stream->ring()),
      config_(stream->config()) {}

StreamConfig ServedStream::config() const {
  const MutexLock lock(mu_);
  return config_;
}

void ServedStream::SetConfig(StreamConfig config) {
  const MutexLock lock(mu_);
  config_ = std::move(config);
}

}  // namespace millrace::service
