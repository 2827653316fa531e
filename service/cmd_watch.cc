#include "service/cmd_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "grpcpp/grpcpp.h"
#include "millrace/v1/prediction_service.grpc.pb.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/cli_exit_codes.h"
#include "service/serve_signals.h"
#include "service/terminal.h"
#include "service/watch_output.h"
#include "service/watch_states.h"

namespace millrace::service {
namespace {

constexpr std::size_t kLongestLine = 200;  // Where a terminal does not say how wide it is.

/// Shows one stream's predictions, and goes on where it stopped when the connection ends: a server
/// may start again, and ends connections that are old.
class Watch {
 public:
  Watch(const WatchArguments& arguments, const std::string& stream, const WatchChannel& channel,
        WatchScreen& screen, std::stop_token stop)
      : stub_(v1::PredictionService::NewStub(channel.channel)),
        authorization_(channel.authorization),
        arguments_(arguments),
        screen_(screen),
        stop_(std::move(stop)) {
    request_.set_stream(stream);
    request_.set_policy(v1::DELIVERY_POLICY_LATEST);
    request_.mutable_parts()->set_preview(!arguments.view.empty());  // None of the arrays.
  }

  /// Until the stream ends, `count` are shown, it is stopped, or nothing answers for long.
  grpc::Status Run() {
    for (;;) {
      const std::uint64_t before = shown_;
      grpc::Status status = Subscribe();
      if (shown_ > before) tries_ = 0;
      if (!stop_.stop_requested() && !status.ok() && GoesOn(status)) continue;
      if (Enough()) screen_.End(request_.stream());
      return status;
    }
  }

  /// Ends the call under way. From any thread.
  void Cancel() {
    const MutexLock lock(mu_);
    if (call_ != nullptr) call_->TryCancel();
  }

 private:
  /// Whether to subscribe again, after a pause if need be.
  bool GoesOn(const grpc::Status& status) {
    if (status.error_code() == grpc::StatusCode::OUT_OF_RANGE && request_.has_resume()) {
      request_.clear_resume();  // The stream has begun anew.
      return true;
    }
    const bool away = status.error_code() == grpc::StatusCode::UNAVAILABLE;
    if (!away || shown_ == 0 || ++tries_ > kMostTries) return false;
    std::this_thread::sleep_for(kPause);
    return true;
  }

  grpc::Status Subscribe() {
    grpc::ClientContext call;
    if (!authorization_.empty()) call.AddMetadata("authorization", authorization_);
    SetCall(&call);
    const auto reader = stub_->Subscribe(&call, request_);
    v1::SubscribeResponse response;
    while (!Enough() && reader->Read(&response)) Show(response);
    if (Enough()) {
      call.TryCancel();
      while (reader->Read(&response)) {
      }
    }
    const grpc::Status status = reader->Finish();
    SetCall(nullptr);
    if (!saved_.ok()) return {grpc::StatusCode::FAILED_PRECONDITION, std::string(saved_.message())};
    return Enough() ? grpc::Status::OK : status;
  }

  void Show(const v1::SubscribeResponse& response) {
    screen_.Show(request_.stream(), arguments_.json ? WatchJson(response) : WatchLine(response));
    if (!arguments_.view.empty()) saved_ = SavePreview(arguments_.view, response);
    request_.mutable_resume()->set_run_id(response.run_id());
    request_.mutable_resume()->set_sequence(response.sequence());
    ++shown_;
  }

  [[nodiscard]] bool Enough() const {
    return !saved_.ok() || (arguments_.count > 0 && shown_ == arguments_.count);
  }

  void SetCall(grpc::ClientContext* call) {
    const MutexLock lock(mu_);
    call_ = call;
    if (call_ != nullptr && stop_.stop_requested()) call_->TryCancel();
  }

  static constexpr std::chrono::milliseconds kPause{500};
  static constexpr int kMostTries = 60;

  const std::unique_ptr<v1::PredictionService::Stub> stub_;
  const std::string authorization_;
  const WatchArguments& arguments_;
  WatchScreen& screen_;
  const std::stop_token stop_;
  v1::SubscribeRequest request_;
  std::uint64_t shown_ = 0;
  int tries_ = 0;       // Since the last that was shown.
  absl::Status saved_;  // OK, or why a picture was not.

  Mutex mu_;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mu_) = nullptr;
};

/// What to watch: the stream that was named, or all that there are now.
absl::StatusOr<std::vector<std::string>> StreamsToWatch(const WatchArguments& arguments,
                                                        const WatchChannel& channel,
                                                        const std::stop_token& stop) {
  if (!arguments.stream.empty()) return std::vector<std::string>{arguments.stream};
  grpc::ClientContext call;
  const std::stop_callback cancel(stop, [&call] { call.TryCancel(); });
  if (!channel.authorization.empty()) call.AddMetadata("authorization", channel.authorization);
  v1::ListStreamsResponse response;
  const grpc::Status status = v1::StreamService::NewStub(channel.channel)
                                  ->ListStreams(&call, v1::ListStreamsRequest(), &response);
  if (!status.ok())
    return absl::Status(absl::StatusCode(status.error_code()), status.error_message());
  std::vector<std::string> names;
  for (const v1::Stream& stream : response.streams()) names.push_back(stream.name());
  if (names.empty()) return absl::NotFoundError("there are no streams yet");
  return names;
}

int Fail(const WatchArguments& arguments, bool unavailable, std::string_view why) {
  std::cerr << "millrace watch: " << arguments.address << ": " << why
            << (unavailable ? " (does `millrace serve` run there?)" : "") << "\n";
  return kExitFailure;
}

/// Watches all of `streams` until each has ended. Returns the first status that is not OK.
grpc::Status WatchAll(const WatchArguments& arguments, const WatchChannel& channel,
                      const std::vector<std::string>& streams, const std::stop_token& stop) {
  const bool terminal = isatty(STDOUT_FILENO) != 0 && !arguments.json;
  WatchScreen screen(std::cout, {.terminal = terminal, .streams = streams, .columns = [] {
                                   return TerminalColumns(kLongestLine);
                                 }});
  std::vector<std::unique_ptr<Watch>> watches;
  for (const std::string& stream : streams) {
    watches.push_back(std::make_unique<Watch>(arguments, stream, channel, screen, stop));
  }
  const std::stop_callback cancel(stop, [&watches] {
    for (const auto& watch : watches) watch->Cancel();
  });
  std::optional<WatchStates> states;  // They have a place on a terminal only.
  if (terminal) states.emplace(channel, arguments.stream, screen);
  std::vector<grpc::Status> ends(watches.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < watches.size(); ++i) {
    threads.emplace_back([&, i] { ends[i] = watches[i]->Run(); });
  }
  threads.clear();  // Waits for all of them.
  const auto failed = std::ranges::find_if(ends, [](const auto& end) { return !end.ok(); });
  return failed == ends.end() ? grpc::Status::OK : *failed;
}

int RunUntil(const std::stop_token& stop, const WatchArguments& arguments) {
  absl::StatusOr<WatchChannel> channel = OpenWatchChannel(arguments.address, arguments.security);
  if (!channel.ok()) {
    std::cerr << "millrace watch: " << channel.status().message() << "\n";
    return kExitUsage;
  }
  const absl::StatusOr<std::vector<std::string>> streams =
      StreamsToWatch(arguments, *channel, stop);
  if (stop.stop_requested()) return kExitOk;
  if (!streams.ok()) {
    return Fail(arguments, absl::IsUnavailable(streams.status()),
                std::string(streams.status().message()));
  }
  const grpc::Status status = WatchAll(arguments, *channel, *streams, stop);
  if (status.ok() || stop.stop_requested()) return kExitOk;
  return Fail(arguments, status.error_code() == grpc::StatusCode::UNAVAILABLE,
              status.error_message());
}

}  // namespace

int RunWatch(const WatchArguments& arguments) {
  StopSignals signals;  // Before gRPC starts threads, which would take them.
  std::stop_source stop;
  signals.Watch([&stop] { stop.request_stop(); });
  const int code = RunUntil(stop.get_token(), arguments);
  signals.Forget();  // What it would call ends here.
  return code;
}

}  // namespace millrace::service
