// What the streams that `millrace watch` shows are doing while no prediction comes.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/watch_channel.h"
#include "service/watch_output.h"

namespace millrace::service {

/// Tells a screen what keeps streams from predicting, as the server says it, and has it drawn anew
/// once a second, so that what is old is seen to grow older. Until it is destroyed; the screen
/// outlives it.
class WatchStates {
 public:
  /// `stream`: this one alone; empty: all.
  WatchStates(const WatchChannel& channel, const std::string& stream, WatchScreen& screen);

  WatchStates(const WatchStates&) = delete;
  WatchStates& operator=(const WatchStates&) = delete;

 private:
  void Follow(const std::stop_token& stop);
  [[nodiscard]] grpc::Status FollowOnce(const std::stop_token& stop);
  void Tick(const std::stop_token& stop);
  /// Returns whether it is to go on.
  bool Pause(const std::stop_token& stop, std::chrono::milliseconds time) ABSL_LOCKS_EXCLUDED(mu_);

  const std::unique_ptr<v1::StreamService::Stub> stub_;
  const std::string authorization_;
  const std::string stream_;
  WatchScreen& screen_;

  Mutex mu_;
  CondVar woken_;  // By a stop.

  std::jthread follower_;
  std::jthread ticker_;
};

}  // namespace millrace::service
