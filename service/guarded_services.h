// Each service behind a guard: what Admission refuses does not reach it.
//
// A method that is not listed here is not served, so none can be forgotten.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <string_view>

#include "millrace/v1/label_service.grpc.pb.h"
#include "millrace/v1/prediction_service.grpc.pb.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/admission.h"
#include "service/refusal.h"

namespace millrace::service {

/// Serves a call if it is admitted, else ends it with why not. Thread-safe. Borrows `admission`.
class Guard {
 public:
  explicit Guard(const Admission& admission) : admission_(admission) {}

  /// `serve` answers a call with one response.
  template <typename Serve>
  grpc::ServerUnaryReactor* One(grpc::CallbackServerContext& context, std::string_view method,
                                Serve serve) const {
    const absl::Status admitted = Admit(context, method);
    return admitted.ok() ? serve() : EndCall(context, admitted);
  }

  /// `serve` answers a call with a stream of `Response`s.
  template <typename Response, typename Serve>
  grpc::ServerWriteReactor<Response>* Many(grpc::CallbackServerContext& context,
                                           std::string_view method, Serve serve) const {
    const absl::Status admitted = Admit(context, method);
    if (!admitted.ok()) return new RefusedStream<Response>(admitted);
    return serve();
  }

 private:
  [[nodiscard]] absl::Status Admit(const grpc::CallbackServerContext& context,
                                   std::string_view method) const;

  const Admission& admission_;
};

/// Those that follow borrow `service`, and are thread-safe if it is.
class GuardedPredictionService final : public v1::PredictionService::CallbackService {
 public:
  GuardedPredictionService(const Admission& admission,
                           v1::PredictionService::CallbackService& service)
      : guard_(admission), service_(service) {}

  grpc::ServerWriteReactor<v1::SubscribeResponse>* Subscribe(
      grpc::CallbackServerContext* context, const v1::SubscribeRequest* request) override;
  grpc::ServerUnaryReactor* GetLatest(grpc::CallbackServerContext* context,
                                      const v1::GetLatestRequest* request,
                                      v1::GetLatestResponse* response) override;

 private:
  const Guard guard_;
  v1::PredictionService::CallbackService& service_;
};

class GuardedStreamService final : public v1::StreamService::CallbackService {
 public:
  GuardedStreamService(const Admission& admission, v1::StreamService::CallbackService& service)
      : guard_(admission), service_(service) {}

  grpc::ServerUnaryReactor* ListStreams(grpc::CallbackServerContext* context,
                                        const v1::ListStreamsRequest* request,
                                        v1::ListStreamsResponse* response) override;
  grpc::ServerUnaryReactor* GetStream(grpc::CallbackServerContext* context,
                                      const v1::GetStreamRequest* request,
                                      v1::GetStreamResponse* response) override;

 private:
  const Guard guard_;
  v1::StreamService::CallbackService& service_;
};

class GuardedLabelService final : public v1::LabelService::CallbackService {
 public:
  GuardedLabelService(const Admission& admission, v1::LabelService::CallbackService& service)
      : guard_(admission), service_(service) {}

  grpc::ServerUnaryReactor* AddLabels(grpc::CallbackServerContext* context,
                                      const v1::AddLabelsRequest* request,
                                      v1::AddLabelsResponse* response) override;

 private:
  const Guard guard_;
  v1::LabelService::CallbackService& service_;
};

}  // namespace millrace::service
