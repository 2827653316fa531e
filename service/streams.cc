#include "service/streams.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace::service {

Streams::Streams(std::vector<std::unique_ptr<CameraStream>> streams)
    : streams_(std::move(streams)) {}

absl::StatusOr<CameraStream*> Streams::Find(std::string_view name) const {
  if (name.empty() && streams_.size() == 1) return streams_.front().get();
  for (const std::unique_ptr<CameraStream>& stream : streams_) {
    if (stream->config().name == name) return stream.get();
  }
  const std::string known = absl::StrJoin(
      streams_, ", ", [](std::string* out, const std::unique_ptr<CameraStream>& stream) {
        absl::StrAppend(out, "'", stream->config().name, "'");
      });
  return absl::NotFoundError(name.empty() ? absl::StrCat("name a stream, one of ", known)
                                          : absl::StrCat("there is no stream '", std::string(name),
                                                         "'; there are ", known));
}

void Streams::Stop() {
  std::vector<std::jthread> stopping;
  stopping.reserve(streams_.size());
  for (const std::unique_ptr<CameraStream>& stream : streams_) {
    stopping.emplace_back([&stream] { stream->Stop(); });
  }
}

}  // namespace millrace::service
