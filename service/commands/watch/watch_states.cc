#include "service/commands/watch/watch_states.h"

#include <chrono>

#include "grpcpp/grpcpp.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick(1000);
constexpr milliseconds kBeforeAnotherTry(500);

}  // namespace

WatchStates::WatchStates(const WatchChannel& channel, const std::string& stream, WatchCalls& calls,
                         WatchScreen& screen)
    : stub_(v1::StreamService::NewStub(channel.channel)),
      authorization_(channel.authorization),
      stream_(stream),
      calls_(calls),
      screen_(screen),
      follower_([this] { Follow(); }),
      ticker_([this] { Tick(); }) {}

// Retries while the server is away. A server without this call is not asked again.
void WatchStates::Follow() {
  for (;;) {
    const grpc::Status status = FollowOnce();
    if (calls_.ended() || status.error_code() != grpc::StatusCode::UNAVAILABLE) return;
    screen_.SetTroubleOfAll({.what = "server away", .why = {}});
    if (calls_.Pause(kBeforeAnotherTry)) return;
  }
}

grpc::Status WatchStates::FollowOnce() {
  WatchCall call(calls_, authorization_);
  v1::WatchStreamsRequest request;
  request.set_stream(stream_);
  const auto reader = stub_->WatchStreams(&call.context(), request);
  v1::WatchStreamsResponse response;
  Troubles troubles;  // Each call begins with the current states.
  while (reader->Read(&response)) {
    screen_.SetTrouble(response.event().stream(), troubles.After(response.event()));
  }
  return reader->Finish();
}

void WatchStates::Tick() {
  while (!calls_.Pause(kTick)) {
    if (!screen_.Refresh()) calls_.End();  // The output is closed.
  }
}

}  // namespace millrace::service
