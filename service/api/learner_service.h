// `millrace.v1.LearnerService`: pauses, freezes, resumes and changes running learners.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "millrace/v1/learner_service.grpc.pb.h"
#include "service/registry/stream_changes.h"
#include "service/registry/stream_registry.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/guard.h"

namespace millrace::service {

using LearnerMethods =
    RawMethods<v1::LearnerService::Service, v1::LearnerService::WithRawCallbackMethod_GetLearner,
               v1::LearnerService::WithRawCallbackMethod_UpdateLearner,
               v1::LearnerService::WithRawCallbackMethod_PauseLearner,
               v1::LearnerService::WithRawCallbackMethod_ResumeLearner,
               v1::LearnerService::WithRawCallbackMethod_FreezeLearner,
               v1::LearnerService::WithRawCallbackMethod_ResetLearner>;

/// Only translates requests. Thread-safe. Its arguments must outlive it.
class LearnerService final : public LearnerMethods {
 public:
  LearnerService(const StreamRegistry& streams, StreamChanges& changes, CallThread& control_thread,
                 const Admission& admission)
      : guard_(v1::LearnerService::service_full_name(), admission),
        streams_(streams),
        changes_(changes),
        control_thread_(control_thread) {}

  grpc::ServerUnaryReactor* GetLearner(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* UpdateLearner(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* PauseLearner(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ResumeLearner(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* FreezeLearner(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ResetLearner(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;

 private:
  /// Serves a request that sets the learner of its stream to `mode`.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* SetMode(const UnaryCall& call, std::string_view method,
                                    LearnerState mode) const;
  /// `client`: the client's address.
  [[nodiscard]] absl::StatusOr<v1::UpdateLearnerResponse> Update(
      const v1::UpdateLearnerRequest& request, const std::string& client) const;

  // Constant after construction.
  const Guard guard_;
  const StreamRegistry& streams_;
  StreamChanges& changes_;
  CallThread& control_thread_;
};

}  // namespace millrace::service
