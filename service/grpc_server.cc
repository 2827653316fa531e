#include "service/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "service/health_reporter.h"
#include "service/label_service.h"
#include "service/learner_service.h"
#include "service/prediction_service.h"
#include "service/stream_service.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Requests hold a name or two, or labels: thousands of them.
constexpr int kMostRequestBytes = 1 << 20;

int Milliseconds(milliseconds time) { return static_cast<int>(time.count()); }

std::string HostPort(const GrpcServer::Options& options) {
  const bool ipv6 = options.address.find(':') != std::string::npos;
  return absl::StrCat(ipv6 ? "[" : "", options.address, ipv6 ? "]" : "", ":", options.port);
}

/// A dead client is noticed within 40 s, and clients may ping as often as every 10 s to notice a
/// dead server.
void SetKeepalive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(seconds(30)));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(seconds(10)));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(seconds(10)));
}

class RunningServer final : public GrpcServer {
 public:
  RunningServer(const Options& options, const StreamApi& api)
      : subscribers_(options.stall_limit),
        predictions_(*api.streams, subscribers_),
        streams_(api, control_thread_, subscribers_),
        learners_(*api.streams, *api.control, control_thread_),
        labels_(*api.streams) {}
  ~RunningServer() override {
    if (server_ != nullptr) RunningServer::Shutdown(seconds(0));
  }

  absl::Status Listen(const Options& options, const Streams& streams);

  int port() const override { return port_; }
  void Drain() override { health_->Drain(); }
  void Shutdown(std::chrono::nanoseconds grace) override {
    Drain();
    server_->Shutdown(std::chrono::system_clock::now() + grace);
  }

 private:
  // The services outlive the server, which calls them.
  ControlThread control_thread_;
  Subscribers subscribers_;
  PredictionService predictions_;
  StreamService streams_;
  LearnerService learners_;
  LabelService labels_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<HealthReporter> health_;
};

absl::Status RunningServer::Listen(const Options& options, const Streams& streams) {
  // Both concern every server built from here on: gRPC has no finer switch.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  grpc::ServerBuilder builder;
  builder.AddListeningPort(HostPort(options), grpc::InsecureServerCredentials(), &port_);
  // Without this a second server would share the port, and calls would go to either.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(kMostRequestBytes);
  SetKeepalive(builder);
  builder.RegisterService(&predictions_);
  builder.RegisterService(&streams_);
  builder.RegisterService(&learners_);
  builder.RegisterService(&labels_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve gRPC at ", HostPort(options),
                     ": another program may have the port, or the address is not of this machine; "
                     "set listen.grpc_port or listen.address"));
  }
  health_ = std::make_unique<HealthReporter>(*server_->GetHealthCheckService(), streams);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const Options& options,
                                                              const StreamApi& api) {
  auto server = std::make_unique<RunningServer>(options, api);
  if (absl::Status listening = server->Listen(options, *api.streams); !listening.ok()) {
    return listening;
  }
  return server;
}

}  // namespace millrace::service
