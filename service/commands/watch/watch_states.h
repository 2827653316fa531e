// Shows why streams do not predict, for `millrace watch`.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/commands/watch/watch_calls.h"
#include "service/commands/watch/watch_channel.h"
#include "service/commands/watch/watch_output.h"

namespace millrace::service {

/// Reports the server's reasons why streams do not predict to a screen, and redraws the screen once
/// a second so that ages grow. Runs until `calls` are ended; ends them itself if the output is
/// closed. The destructor waits for that. `screen` and `calls` must outlive it.
class WatchStates {
 public:
  /// `stream`: the only stream to show; empty: all.
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
