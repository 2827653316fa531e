#include "service/commands/watch/watch_command.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "millrace/v1/prediction_service.grpc.pb.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/commands/watch/watch_calls.h"
#include "service/commands/watch/watch_failure.h"
#include "service/commands/watch/watch_output.h"
#include "service/commands/watch/watch_states.h"
#include "service/commands/watch/watch_status.h"
#include "service/server/grpc_log.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_values.h"
#include "service/terminal/serve_signals.h"
#include "service/terminal/terminal.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
On a terminal each stream has one line, which is rewritten. Without predictions it shows the state
of the stream. Elsewhere, and with --json, each prediction is a line of its own. A prediction that
arrives while the previous one is shown is skipped and counted as missed. In JSON a missing loss
is null. --view writes JPEG files, FOLDER/STREAM-FRAME.jpg; --count limits their number. The exit
code is 0 after Ctrl-C, and when the reader of the output is gone. It is 1 if a stream could not
be watched to its end: stderr has the reason.

Examples
  millrace watch
  millrace watch 192.168.1.20:50051 --stream gate --count 100
  millrace watch --json | jq -c 'select(.delay_ms > 200)'
  millrace watch --view pictures --count 10
  millrace watch 192.168.1.20:50051 --ca ca.pem --token-file token.txt)";

/// The terminal's size, or a default if it does not report one.
ScreenSize SizeOfScreen() { return {.columns = TerminalColumns(200), .rows = TerminalRows(24)}; }

absl::Status StatusOf(const grpc::Status& status) {
  return {absl::StatusCode(status.error_code()), status.error_message()};
}

/// Shows one stream's predictions, and resumes after a lost connection: a server may restart, and
/// it closes old connections.
class Watch {
 public:
  Watch(const WatchArguments& arguments, const std::string& stream, const WatchChannel& channel,
        WatchCalls& calls, WatchScreen& screen)
      : stub_(v1::PredictionService::NewStub(channel.channel)),
        authorization_(channel.authorization),
        arguments_(arguments),
        calls_(calls),
        screen_(screen) {
    request_.set_stream(stream);
    request_.set_policy(v1::DELIVERY_POLICY_LATEST);
    request_.mutable_parts()->set_preview(!arguments.view.empty());  // No arrays.
    request_.set_status(!screen.on_terminal());  // On a terminal, WatchStates shows more.
  }

  /// Runs until the stream ends, `count` predictions are shown, all calls are ended, or the server
  /// stays away too long. Fails with the reason why it could not continue.
  absl::Status Run() {
    for (;;) {
      const std::uint64_t before = shown_;
      const grpc::Status status = Subscribe();
      if (shown_ > before) tries_ = 0;
      if (Enough()) screen_.End(request_.stream());
      if (Enough() || calls_.ended()) return saved_;
      if (status.ok() || !GoesOn(status)) return StatusOf(status);
    }
  }

 private:
  /// Whether to subscribe again; pauses first if the server is away.
  bool GoesOn(const grpc::Status& status) {
    if (status.error_code() == grpc::StatusCode::OUT_OF_RANGE && request_.has_resume()) {
      request_.clear_resume();  // The stream has restarted.
      return true;
    }
    const bool away = status.error_code() == grpc::StatusCode::UNAVAILABLE;
    if (!away || shown_ == 0 || ++tries_ > kMaxTries) return false;
    calls_.Pause(kPause);
    return true;
  }

  grpc::Status Subscribe() {
    WatchCall call(calls_, authorization_);
    const auto reader = stub_->Subscribe(&call.context(), request_);
    v1::SubscribeResponse response;
    while (!Enough() && reader->Read(&response)) Show(response);
    if (Enough()) {
      call.context().TryCancel();
      while (reader->Read(&response)) {
      }
    }
    return reader->Finish();
  }

  void Show(const v1::SubscribeResponse& response) {
    request_.mutable_resume()->set_run_id(response.run_id());
    request_.mutable_resume()->set_sequence(response.sequence());
    if (response.has_status()) return ShowStatus(response.status());
    Print(arguments_.json ? WatchJson(response) : WatchLine(response));
    if (calls_.ended()) return;
    if (!arguments_.view.empty()) saved_ = SavePreview(arguments_.view, response);
    ++shown_;
  }

  /// With JSON on standard error, because programs read each line of standard output as a
  /// prediction.
  void ShowStatus(const v1::StreamStatus& status) {
    const std::optional<std::string> line = lines_.Next(status);
    if (!line) return;
    if (!arguments_.json) return Print(*line);
    screen_.Print(std::cerr, absl::StrCat(*line, "\n"));
  }

  void Print(const std::string& line) {
    if (!screen_.Show(request_.stream(), line)) calls_.End();  // The output is closed.
  }

  [[nodiscard]] bool Enough() const {
    return !saved_.ok() || (arguments_.count > 0 && shown_ == arguments_.count);
  }

  static constexpr std::chrono::milliseconds kPause{500};
  static constexpr int kMaxTries = 60;

  const std::unique_ptr<v1::PredictionService::Stub> stub_;
  const std::string authorization_;
  const WatchArguments& arguments_;
  WatchCalls& calls_;
  WatchScreen& screen_;
  v1::SubscribeRequest request_;
  StatusLines lines_;
  std::uint64_t shown_ = 0;
  int tries_ = 0;       // Since the last shown prediction.
  absl::Status saved_;  // OK, or the error of saving a picture.
};

/// The streams to watch: the named one, or all current ones.
absl::StatusOr<std::vector<std::string>> StreamsToWatch(const WatchArguments& arguments,
                                                        const WatchChannel& channel,
                                                        WatchCalls& calls) {
  if (!arguments.stream.empty()) return std::vector<std::string>{arguments.stream};
  WatchCall call(calls, channel.authorization);
  v1::ListStreamsResponse response;
  const grpc::Status status =
      v1::StreamService::NewStub(channel.channel)
          ->ListStreams(&call.context(), v1::ListStreamsRequest(), &response);
  if (!status.ok()) return StatusOf(status);
  std::vector<std::string> names;
  for (const v1::Stream& stream : response.streams()) names.push_back(stream.name());
  if (names.empty()) return absl::NotFoundError("there are no streams yet");
  return names;
}

/// The error text for `what`, a stream or the whole server, that cannot be watched.
std::string Failure(const std::string& what, const std::string& why) {
  return absl::StrCat("millrace watch: ", what, ": ", why, "\n");
}

/// Watches all `streams` until each has ended, and reports each failure at once. Returns the
/// program's exit code.
int WatchAll(const WatchArguments& arguments, const WatchChannel& channel,
             const std::vector<std::string>& streams, WatchCalls& calls) {
  const bool terminal = isatty(STDOUT_FILENO) != 0 && !arguments.json;
  WatchScreen screen(std::cout, {.terminal = terminal, .streams = streams, .size = SizeOfScreen});
  std::optional<WatchStates> states;  // Only for a terminal.
  if (terminal) states.emplace(channel, arguments.stream, calls, screen);
  std::atomic<bool> failed = false;
  std::vector<std::jthread> threads;
  for (const std::string& stream : streams) {
    threads.emplace_back([&, stream] {
      const absl::Status end = Watch(arguments, stream, channel, calls, screen).Run();
      if (end.ok()) return;
      failed = true;
      screen.Print(std::cerr, Failure(absl::StrCat(arguments.address, ": ", stream),
                                      FailureInWords(end, arguments.security)));
    });
  }
  threads.clear();  // Joins all threads.
  calls.End();      // Ends WatchStates' call, too.
  states.reset();
  const absl::Status written = screen.written();
  const bool lost = !written.ok() && !absl::IsCancelled(written);
  if (lost) std::cerr << Failure("standard output", std::string(written.message()));
  return failed || lost ? kExitFailure : kExitOk;
}

}  // namespace

void AddWatch(CLI::App& app, WatchArguments& arguments) {
  CLI::App* watch = app.add_subcommand("watch", "Show a running server's predictions");
  watch->add_option("address", arguments.address, "HOST:PORT of the server's gRPC")
      ->capture_default_str();
  watch->add_option("-s,--stream", arguments.stream, "Only this stream");
  watch
      ->add_option("-n,--count", arguments.count,
                   "End after this many predictions of each stream. 0: no limit")
      ->check(WholeFrom(0))
      ->capture_default_str();
  watch->add_flag("--json", arguments.json, "Print each prediction as a JSON object");
  watch->add_option("--view", arguments.view,
                    "Save each prediction's pictures, camera and flow, in this folder");
  WatchSecurity& security = arguments.security;
  watch->add_flag("--tls", security.tls,
                  "Use TLS, with the certificate authorities of this machine");
  watch->add_option("--ca", security.ca_file,
                    "Use TLS, with the certificate authorities in this file");
  CLI::Option* certificate = watch->add_option("--certificate", security.certificate_file,
                                               "Use TLS, with this client certificate");
  certificate->needs(
      watch->add_option("--key", security.key_file, "Its private key")->needs(certificate));
  watch->add_option("--server-name", security.server_name,
                    "The name in the server's certificate, if the address differs");
  watch->add_option("--token-file", security.token_file, "The file with the token");
  watch->footer(kFooter);
}

int RunWatch(const WatchArguments& arguments) {
  LogGrpc(GrpcSide::kClient);
  WatchCalls calls;
  StopSignals signals;  // Before gRPC starts threads, which inherit the blocked signals.
  signals.Watch([&calls] { calls.End(); });
  const absl::StatusOr<WatchChannel> channel =
      OpenWatchChannel(arguments.address, arguments.security);
  if (!channel.ok()) {
    std::cerr << "millrace watch: " << channel.status().message() << "\n";
    return kExitUsage;
  }
  const absl::StatusOr<std::vector<std::string>> streams =
      StreamsToWatch(arguments, *channel, calls);
  if (calls.ended()) return kExitOk;
  if (!streams.ok()) {
    std::cerr << Failure(arguments.address, FailureInWords(streams.status(), arguments.security));
    return kExitFailure;
  }
  return WatchAll(arguments, *channel, *streams, calls);
}

}  // namespace millrace::service
