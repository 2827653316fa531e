#include "service/watch_states.h"

#include <chrono>

#include "grpcpp/grpcpp.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick(1000);
constexpr milliseconds kBeforeAnotherTry(500);

}  // namespace

WatchStates::WatchStates(const WatchChannel& channel, const std::string& stream,
                         WatchScreen& screen)
    : stub_(v1::StreamService::NewStub(channel.channel)),
      authorization_(channel.authorization),
      stream_(stream),
      screen_(screen),
      follower_([this](const std::stop_token& stop) { Follow(stop); }),
      ticker_([this](const std::stop_token& stop) { Tick(stop); }) {}

// A server that starts again has the streams again; one that cannot tell is not asked again.
void WatchStates::Follow(const std::stop_token& stop) {
  for (;;) {
    const grpc::Status status = FollowOnce(stop);
    if (stop.stop_requested() || status.error_code() != grpc::StatusCode::UNAVAILABLE) return;
    screen_.SetTroubleOfAll({.what = "server away", .why = {}});
    if (!Pause(stop, kBeforeAnotherTry)) return;
  }
}

grpc::Status WatchStates::FollowOnce(const std::stop_token& stop) {
  grpc::ClientContext call;
  const std::stop_callback cancel(stop, [&call] { call.TryCancel(); });
  if (!authorization_.empty()) call.AddMetadata("authorization", authorization_);
  v1::WatchStreamsRequest request;
  request.set_stream(stream_);
  const auto reader = stub_->WatchStreams(&call, request);
  v1::WatchStreamsResponse response;
  while (reader->Read(&response)) {
    screen_.SetTrouble(response.event().stream(), TroubleOf(response.event()));
  }
  return reader->Finish();
}

void WatchStates::Tick(const std::stop_token& stop) {
  while (Pause(stop, kTick)) screen_.Refresh();
}

bool WatchStates::Pause(const std::stop_token& stop, milliseconds time) {
  const MutexLock lock(mu_);
  woken_.wait_for(mu_, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace millrace::service
