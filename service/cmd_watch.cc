#include "service/cmd_watch.h"

#include <unistd.h>

#include <atomic>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

/// Prints predictions until the stream ends, `count` are shown or the call is cancelled.
grpc::Status Show(grpc::ClientReader<v1::SubscribeResponse>& reader, std::uint64_t count,
                  grpc::ClientContext& call) {
  const bool rewrites = isatty(STDOUT_FILENO) != 0;
  v1::SubscribeResponse response;
  std::uint64_t shown = 0;
  bool enough = false;
  while (!enough && reader.Read(&response)) {
    if (rewrites) {
      std::cout << '\r' << CutTo(Line(response), TerminalColumns(kLongestLine)) << "\x1b[K";
    } else {
      std::cout << Line(response) << '\n';
    }
    std::cout << std::flush;
    enough = ++shown == count;
  }
  if (rewrites && shown > 0) std::cout << "\n";
  if (!enough) return reader.Finish();
  call.TryCancel();
  while (reader.Read(&response)) {
  }
  reader.Finish();  // It says that the call was cancelled, which is known.
  return grpc::Status::OK;
}

}  // namespace

int RunWatch(const WatchArguments& arguments) {
  StopSignals signals;
  std::atomic<bool> interrupted = false;
  grpc::ClientContext call;
  signals.Watch([&] {
    interrupted = true;
    call.TryCancel();
  });

  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateChannel(arguments.address, grpc::InsecureChannelCredentials());
  const auto stub = v1::PredictionService::NewStub(channel);
  v1::SubscribeRequest request;
  request.set_stream(arguments.stream);
  request.set_policy(v1::DELIVERY_POLICY_LATEST);
  request.mutable_parts();  // None of the arrays.
  const auto reader = stub->Subscribe(&call, request);
  const grpc::Status status = Show(*reader, arguments.count, call);
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
