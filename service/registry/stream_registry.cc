#include "service/registry/stream_registry.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/error_reason.h"
#include "base/truncate.h"

namespace millrace::service {
namespace {

const std::string& NameOf(const SharedStream& stream) { return stream->stream->config().name; }

absl::Status NoSuchStream(std::string_view name, const std::vector<SharedStream>& streams) {
  if (streams.empty()) {
    return WithReason("STREAM_NOT_FOUND", {{"stream", name}},
                      absl::NotFoundError("there are no streams; add one with CreateStream"));
  }
  std::vector<std::string> names;
  for (const SharedStream& stream : streams) {
    names.push_back(absl::StrCat("'", NameOf(stream), "'"));
  }
  const std::string known = ShortList(names);
  return WithReason(
      "STREAM_NOT_FOUND", {{"stream", name}},
      absl::NotFoundError(name.empty() ? absl::StrCat("name a stream, one of ", known)
                                       : absl::StrCat("there is no stream '", std::string(name),
                                                      "'; there are ", known)));
}

}  // namespace

std::vector<SharedStream> StreamRegistry::All() const {
  const MutexLock lock(mu_);
  return streams_;
}

absl::StatusOr<SharedStream> StreamRegistry::Find(std::string_view name) const {
  const std::vector<SharedStream> streams = All();
  if (name.empty() && streams.size() == 1) return streams.front();
  for (const SharedStream& stream : streams) {
    if (NameOf(stream) == name) return stream;
  }
  return NoSuchStream(name, streams);
}

absl::Status StreamRegistry::Add(SharedStream stream) {
  const MutexLock lock(mu_);
  if (stopped_) return absl::CancelledError("the server stops");
  for (const SharedStream& other : streams_) {
    if (NameOf(other) == NameOf(stream)) return AlreadyExists(NameOf(stream));
  }
  streams_.push_back(std::move(stream));
  return absl::OkStatus();
}

absl::Status StreamRegistry::AlreadyExists(const std::string& name) {
  return WithReason("STREAM_EXISTS", {{"stream", name}},
                    absl::AlreadyExistsError(absl::StrCat(
                        "there is a stream '", name,
                        "' already; choose another name, or change that one with UpdateStream")));
}

absl::Status StreamRegistry::Replace(SharedStream stream) {
  const MutexLock lock(mu_);
  if (stopped_) return absl::CancelledError("the server stops");
  const auto found = std::find_if(
      streams_.begin(), streams_.end(),
      [&stream](const SharedStream& other) { return NameOf(other) == NameOf(stream); });
  MILLRACE_CHECK(found != streams_.end());
  *found = std::move(stream);
  return absl::OkStatus();
}

void StreamRegistry::Remove(const SharedStream& stream) {
  const MutexLock lock(mu_);
  MILLRACE_CHECK(std::erase(streams_, stream) == 1);
}

void StreamRegistry::Stop() {
  {
    const MutexLock lock(mu_);
    stopped_ = true;
  }
  std::vector<std::jthread> stopping;
  for (const SharedStream& stream : All()) {
    if (!stream->stream->ended()) stream->stream->ring().EndWith(ServerStops());
    try {
      stopping.emplace_back([stream] { stream->stream->Stop(); });
    } catch (const std::system_error&) {  // The system has no more threads.
      stream->stream->Stop();
    }
  }
}

}  // namespace millrace::service
