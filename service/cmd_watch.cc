#include "service/cmd_watch.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/mutex.h"
#include "grpcpp/grpcpp.h"
#include "millrace/v1/prediction_service.grpc.pb.h"
#include "service/cli_exit_codes.h"
#include "service/serve_signals.h"
#include "service/terminal.h"

namespace millrace::service {
namespace {

constexpr std::size_t kLongestLine = 200;  // Where a terminal does not say how wide it is.

double Milliseconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) * 1e3 +
         static_cast<double>(duration.nanos()) / 1e6;
}

std::string ClassOf(const v1::Prediction& prediction) {
  const std::string& name = prediction.best_class_name();
  return name.empty() ? absl::StrCat(prediction.best_class()) : name;
}

std::string Line(const v1::SubscribeResponse& response) {
  const v1::Prediction& prediction = response.prediction();
  std::string line = absl::StrFormat("%s  frame %d  delay %.0f ms (%d frames)", prediction.stream(),
                                     prediction.frame_number(), Milliseconds(prediction.delay()),
                                     prediction.delay_frames());
  if (prediction.has_best_class()) absl::StrAppend(&line, "  class ", ClassOf(prediction));
  if (!prediction.has_outputs() || prediction.labelled() > 0) {
    absl::StrAppendFormat(&line, "  loss %.4f", prediction.loss());
  }
  if (prediction.loss_no_motion() > 0) {
    absl::StrAppendFormat(&line, ", %.2f of no motion",
                          prediction.loss() / prediction.loss_no_motion());
  }
  absl::StrAppend(&line, "  update ", prediction.update_count());
  if (response.dropped_total() > 0) {
    absl::StrAppend(&line, "  missed ", response.dropped_total());
  }
  return line;
}

/// Prints predictions, and goes on where it stopped when the connection ends: a server may start
/// again, and ends connections that are old.
class Watch {
 public:
  Watch(const WatchArguments& arguments, WatchChannel channel, const std::atomic<bool>& interrupted)
      : stub_(v1::PredictionService::NewStub(channel.channel)),
        authorization_(std::move(channel.authorization)),
        count_(arguments.count),
        interrupted_(interrupted) {
    request_.set_stream(arguments.stream);
    request_.set_policy(v1::DELIVERY_POLICY_LATEST);
    request_.mutable_parts();  // None of the arrays.
  }

  /// Until the stream ends, `count` are shown, it is interrupted, or nothing answers for long.
  grpc::Status Run() {
    for (;;) {
      const std::uint64_t before = shown_;
      grpc::Status status = Subscribe();
      if (shown_ > before) tries_ = 0;
      if (interrupted_ || status.ok() || !GoesOn(status)) return status;
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
    return Enough() ? grpc::Status::OK : status;
  }

  void Show(const v1::SubscribeResponse& response) {
    if (isatty(STDOUT_FILENO) != 0) {
      std::cout << '\r' << CutTo(Line(response), TerminalColumns(kLongestLine)) << "\x1b[K";
    } else {
      std::cout << Line(response) << '\n';
    }
    std::cout << std::flush;
    request_.mutable_resume()->set_run_id(response.run_id());
    request_.mutable_resume()->set_sequence(response.sequence());
    if (++shown_ == count_ && isatty(STDOUT_FILENO) != 0) std::cout << "\n";
  }

  [[nodiscard]] bool Enough() const { return count_ > 0 && shown_ == count_; }

  void SetCall(grpc::ClientContext* call) {
    const MutexLock lock(mu_);
    call_ = call;
    if (call_ != nullptr && interrupted_) call_->TryCancel();
  }

  static constexpr std::chrono::milliseconds kPause{500};
  static constexpr int kMostTries = 60;

  const std::unique_ptr<v1::PredictionService::Stub> stub_;
  const std::string authorization_;
  const std::uint64_t count_;
  const std::atomic<bool>& interrupted_;
  v1::SubscribeRequest request_;
  std::uint64_t shown_ = 0;
  int tries_ = 0;  // Since the last that was shown.

  Mutex mu_;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace

int RunWatch(const WatchArguments& arguments) {
  absl::StatusOr<WatchChannel> channel = OpenWatchChannel(arguments.address, arguments.security);
  if (!channel.ok()) {
    std::cerr << "millrace watch: " << channel.status().message() << "\n";
    return kExitUsage;
  }
  StopSignals signals;
  std::atomic<bool> interrupted = false;
  Watch watch(arguments, *std::move(channel), interrupted);
  signals.Watch([&] {
    interrupted = true;
    watch.Cancel();
  });
  const grpc::Status status = watch.Run();
  signals.Forget();  // What it would call ends here.
  if (status.ok() || interrupted) return kExitOk;
  std::cerr << "millrace watch: " << arguments.address << ": " << status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    std::cerr << " (does `millrace serve` run there?)";
  }
  std::cerr << "\n";
  return kExitFailure;
}

}  // namespace millrace::service
