// Prints what a running Millrace predicts.   subscribe [ADDRESS [STREAM]]
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "millrace/v1/prediction_service.grpc.pb.h"

namespace {

namespace v1 = millrace::v1;

/// The mean motion in pixels of the grid, over all cells: dx and dy.
std::pair<double, double> MeanFlow(const v1::Tensor& flow) {
  // Little-endian floats: dx, dy, dx, dy ...
  std::vector<float> numbers(flow.data().size() / sizeof(float));
  std::memcpy(numbers.data(), flow.data().data(), numbers.size() * sizeof(float));
  std::pair<double, double> sum;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    sum.first += numbers[i];
    sum.second += numbers[i + 1];
  }
  const double cells = numbers.empty() ? 1 : static_cast<double>(numbers.size()) / 2;
  return {sum.first / cells, sum.second / cells};
}

/// How much of the motion the model explains. "none": "nothing moves" is the better guess. Empty
/// without losses to compare.
std::string Explained(double loss, double loss_no_motion) {
  const double percent = std::round(100 * (1 - loss / loss_no_motion));
  if (!(loss_no_motion > 0) || !std::isfinite(percent)) return "";
  const std::string share = percent < 0 ? "none" : std::to_string(std::lround(percent)) + " %";
  return "  explains " + share + " of the motion";
}

void Show(const v1::SubscribeResponse& message) {
  const v1::Prediction& prediction = message.prediction();
  const double delay_ms = static_cast<double>(prediction.delay().seconds()) * 1e3 +
                          static_cast<double>(prediction.delay().nanos()) / 1e6;
  const auto [dx, dy] = MeanFlow(prediction.flow());
  const std::string share = Explained(prediction.loss(), prediction.loss_no_motion());
  std::printf("frame %lld  delay %.0f ms%s  mean flow %+.3f %+.3f px",
              static_cast<long long>(prediction.frame_number()), delay_ms, share.c_str(), dx, dy);
  if (message.dropped() > 0) {
    std::printf("  lost %llu", static_cast<unsigned long long>(message.dropped()));
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Why no prediction comes, or which work is given up. Empty if all is well, or if the stream is
/// being stopped.
std::string Hindrance(const v1::StreamStatus& status) {
  if (status.learner_state() == v1::LEARNER_STATE_FAILED) {
    return "learner failed  " + status.learner_cause();
  }
  if (status.learner_state() == v1::LEARNER_STATE_PAUSED) return "learner paused";
  const v1::SourceState now = status.source_state();
  if (now == v1::SOURCE_STATE_STREAMING) {
    const bool gives_up = status.overload() >= v1::OVERLOAD_KIND_ONLY_PREDICTS;
    return gives_up ? status.overload_cause() + "  " + status.overload_remedy() : "";
  }
  if (now == v1::SOURCE_STATE_STOPPED) return "";
  const std::string state = v1::SourceState_Name(now);
  return "camera " + state.substr(std::strlen("SOURCE_STATE_")) + "  " + status.source_cause();
}

void Show(const v1::StreamStatus& status) {
  const std::string hindrance = Hindrance(status);
  if (hindrance.empty()) return;
  std::printf("%s\n", hindrance.c_str());
  std::fflush(stdout);
}

/// Shows predictions until the stream ends or fails. After the end of a connection it reconnects
/// and resumes, for up to five seconds.
grpc::Status Follow(v1::PredictionService::Stub& predictions, v1::SubscribeRequest request) {
  bool had_one = false;  // An error at the start is reported at once.
  for (int tries = 0;; ++tries) {
    grpc::ClientContext call;
    const auto reader = predictions.Subscribe(&call, request);
    v1::SubscribeResponse message;
    while (reader->Read(&message)) {
      if (message.has_status()) {
        Show(message.status());
      } else {
        Show(message);
      }
      had_one = true;
      tries = 0;
      request.mutable_resume()->set_run_id(message.run_id());
      request.mutable_resume()->set_sequence(message.sequence());
    }
    grpc::Status status = reader->Finish();
    const bool goes_on = had_one && tries < 10;
    if (status.error_code() == grpc::StatusCode::OUT_OF_RANGE && goes_on) {
      request.clear_resume();  // The stream has restarted.
    } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE && goes_on) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    } else {
      return status;
    }
  }
}

/// Connects at the first use. After a silent minute it sends a ping, and closes the connection
/// without an answer: a power cut closes no connection.
std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);  // Millrace refuses less than 10 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A flow has 8 bytes a cell, so the largest has 32 MiB. gRPC's own limit is 4.
  arguments.SetMaxReceiveMessageSize(64 << 20);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "127.0.0.1:50051";
  v1::SubscribeRequest request;
  request.set_status(true);                   // Messages also where the camera sends nothing.
  if (argc > 2) request.set_stream(argv[2]);  // May stay empty if the server has just one.

  const auto predictions = v1::PredictionService::NewStub(Connect(address));
  const grpc::Status status = Follow(*predictions, request);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s%s\n", address.c_str(), status.error_message().c_str(),
               status.error_code() == grpc::StatusCode::UNAVAILABLE
                   ? ". Is `millrace serve` running there?"
                   : "");
  return 1;
}
