// What the streams that `millrace watch` shows are doing while no prediction comes.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/commands/watch/watch_calls.h"
#include "service/commands/watch/watch_channel.h"
#include "service/commands/watch/watch_output.h"

namespace millrace::service {

/// Tells a screen what keeps streams from predicting, as the server says it, and has it drawn anew
/// once a second, so that what is old is seen to grow older. Until `calls` are ended, which it does
/// itself where the screen takes no more; the destructor waits for that. Both outlive it.
class WatchStates {
 public:
  /// `stream`: this one alone; empty: all.
  WatchStates(const WatchChannel& channel, const std::string& stream, WatchCalls& calls,
              WatchScreen& screen);

  WatchStates(const WatchStates&) = delete;
  WatchStates& operator=(const WatchStates&) = delete;

 private:
  void Follow();
  [[nodiscard]] grpc::Status FollowOnce();
  void Tick();

  const std::unique_ptr<v1::StreamService::Stub> stub_;
  const std::string authorization_;
  const std::string stream_;
  WatchCalls& calls_;
  WatchScreen& screen_;

  std::jthread follower_;
  std::jthread ticker_;
};

}  // namespace millrace::service
