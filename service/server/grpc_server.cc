#include "service/server/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "service/access/admission.h"
#include "service/api/checkpoint_service.h"
#include "service/api/frame_service.h"
#include "service/api/health_service.h"
#include "service/api/label_service.h"
#include "service/api/learner_service.h"
#include "service/api/prediction_service.h"
#include "service/api/stream_service.h"
#include "service/health/health_reporter.h"
#include "service/health/health_statuses.h"
#include "service/inference/inference_service.h"
#include "service/net/tcp_server.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/counted_calls.h"
#include "service/rpc/unknown_calls.h"
#include "service/server/grpc_credentials.h"
#include "service/server/grpc_handover.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A request holds some names, thousands of labels, or one picture: at most 4K, uncompressed.
constexpr int kMaxRequestBytes = 32 << 20;

/// Limit of waiting calls with pictures, and of those with labels: each may be as large.
constexpr std::size_t kMaxLargeCalls = 16;

absl::Status TooManyQuestions() {
  return WithReason("TOO_MANY_QUESTIONS", {},
                    absl::UnavailableError("too many predictions are waiting already; try again"));
}

absl::Status TooManyLabels() {
  return WithReason("TOO_MANY_LABELS", {},
                    absl::UnavailableError("too many labels are waiting already; try again"));
}

int Milliseconds(milliseconds time) { return static_cast<int>(time.count()); }

/// Clients may ping at most every 10 s to detect a dead server.
void SetKeepalive(const GrpcServer::Options& options, grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(seconds(10)));
}

/// gRPC's default would wait two minutes for a client that sends no valid handshake.
void BoundHandshake(const GrpcServer::Options& options, grpc::ServerBuilder& builder) {
  builder.AddChannelArgument("grpc.server_handshake_timeout_ms",
                             Milliseconds(options.max_handshake));
}

void BoundAge(const GrpcServer::Options& options, grpc::ServerBuilder& builder) {
  if (options.connection_age.count() == 0) return;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(options.connection_age));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             Milliseconds(options.connection_grace));
}

}  // namespace

class GrpcServer::Services {
 public:
  Services(const Options& options, const StreamApi& api, std::unique_ptr<const Admission> admission)
      : admission_(std::move(admission)),
        calls_(options.stall_limit),
        predictions_({.streams = *api.streams,
                      .events = *api.events,
                      .calls = calls_,
                      .questions = question_thread_,
                      .admission = *admission_}),
        streams_(api, control_thread_, calls_, *admission_),
        learners_(*api.streams, *api.changes, control_thread_, *admission_),
        checkpoints_(*api.streams, *api.changes, control_thread_, calls_, *admission_),
        labels_(*api.streams, label_thread_, *admission_),
        frames_(*api.streams, calls_, *admission_),
        inference_({.streams = *api.streams,
                    .calls = calls_,
                    .questions = question_thread_,
                    .statuses = statuses_,
                    .liveness = *api.liveness,
                    .admission = *admission_}),
        health_(statuses_) {}
  ~Services() {
    if (handover_ != nullptr) Shutdown(seconds(0));
  }

  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  absl::Status Listen(const Options& options, const StreamApi& api);

  [[nodiscard]] int port() const { return handover_->port(); }
  void Drain() { statuses_.Drain(); }
  void Shutdown(std::chrono::nanoseconds grace) {
    Drain();
    health_.EndWatches();
    handover_->Stop();
    server_->Shutdown(std::chrono::system_clock::now() + grace);
  }

 private:
  const std::unique_ptr<const Admission> admission_;
  HealthStatuses statuses_;
  // Destroyed after the server, which calls the services.
  CallThread control_thread_{{.max_threads = kChangesAtOnce, .full = TooManyChanges()}};
  // Lower priority than learning.
  CallThread question_thread_{
      {.max_waiting = kMaxLargeCalls, .niceness = 19, .full = TooManyQuestions()}};
  CallThread label_thread_{{.max_waiting = kMaxLargeCalls, .full = TooManyLabels()}};
  StreamingCalls calls_;
  PredictionService predictions_;
  StreamService streams_;
  LearnerService learners_;
  CheckpointService checkpoints_;
  LabelService labels_;
  FrameService frames_;
  InferenceService inference_;
  HealthService health_;
  UnknownCalls unknown_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<GrpcHandover> handover_;
  std::unique_ptr<HealthReporter> reporter_;
};

absl::Status GrpcServer::Services::Listen(const Options& options, const StreamApi& api) {
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<TcpServer> tcp,
                            TcpServer::Listen({.address = options.address,
                                               .port = options.port,
                                               .port_key = "listen.grpc_port",
                                               .connections = options.connections,
                                               .counts = options.counts}));
  MILLRACE_ASSIGN_OR_RETURN(const auto credentials, MakeCredentials(options.security.tls));
  // Affects every server built from here on: gRPC has no per-server option.
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  // Health statuses of all services, so that every client finds one.
  const std::vector<std::string> services = {
      v1::StreamService::service_full_name(), v1::LearnerService::service_full_name(),
      v1::CheckpointService::service_full_name(), v1::LabelService::service_full_name(),
      v1::FrameService::service_full_name()};
  const std::vector<std::string> of_models = {v1::PredictionService::service_full_name(),
                                              inference::GRPCInferenceService::service_full_name()};
  reporter_ = std::make_unique<HealthReporter>(
      HealthReporter::Options{.services = services, .services_of_models = of_models}, statuses_,
      *api.streams, *api.liveness);

  grpc::ServerBuilder builder;
  std::vector<std::string> all = services;
  all.insert(all.end(), of_models.begin(), of_models.end());
  CountCalls(all, *api.calls, builder);
  using Builder = grpc::ServerBuilder::experimental_type;
  std::unique_ptr<GrpcHandover::Grpc> acceptor =
      builder.experimental().AddExternalConnectionAcceptor(Builder::ExternalConnectionType::FROM_FD,
                                                           credentials);
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  SetKeepalive(options, builder);
  BoundAge(options, builder);
  BoundHandshake(options, builder);
  // Every client may call health checks and reflection: they reveal nothing about cameras.
  builder.RegisterService(&predictions_);
  builder.RegisterService(&streams_);
  builder.RegisterService(&learners_);
  builder.RegisterService(&checkpoints_);
  builder.RegisterService(&labels_);
  builder.RegisterService(&frames_);
  builder.RegisterService(&inference_);
  builder.RegisterService(&health_);
  builder.RegisterCallbackGenericService(&unknown_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::InternalError(
        "gRPC does not start, for a reason of its own: its log lines say why");
  }
  handover_ = std::make_unique<GrpcHandover>(
      std::move(tcp), std::move(acceptor),
      GrpcHandover::Options{.max_silence = options.max_handshake,
                            .max_unacknowledged = options.keepalive_timeout});
  return absl::OkStatus();
}

GrpcServer::GrpcServer(std::unique_ptr<Services> services) : services_(std::move(services)) {}
GrpcServer::~GrpcServer() = default;

int GrpcServer::port() const { return services_->port(); }
void GrpcServer::Drain() { services_->Drain(); }
void GrpcServer::Shutdown(std::chrono::nanoseconds grace) { services_->Shutdown(grace); }

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const Options& options,
                                                              const StreamApi& api) {
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<const Admission> admission,
                            Admission::Make(options.security));
  auto services = std::make_unique<Services>(options, api, std::move(admission));
  MILLRACE_RETURN_IF_ERROR(services->Listen(options, api));
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(services)));
}

}  // namespace millrace::service
