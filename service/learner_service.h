// `millrace.v1.LearnerService`: pauses, freezes, resumes and changes learners at work.
#pragma once

#include "millrace/v1/learner_service.grpc.pb.h"
#include "service/call_thread.h"
#include "service/guard.h"
#include "service/stream_control.h"
#include "service/streams.h"

namespace millrace::service {

/// Translates requests, and nothing else. Thread-safe. What it is given must outlive it.
class LearnerService final : public v1::LearnerService::CallbackService {
 public:
  LearnerService(const Streams& streams, StreamControl& control, CallThread& control_thread,
                 const Admission& admission)
      : guard_(v1::LearnerService::service_full_name(), admission),
        streams_(streams),
        control_(control),
        control_thread_(control_thread) {}

  grpc::ServerUnaryReactor* GetLearner(grpc::CallbackServerContext* context,
                                       const v1::GetLearnerRequest* request,
                                       v1::GetLearnerResponse* response) override;
  grpc::ServerUnaryReactor* UpdateLearner(grpc::CallbackServerContext* context,
                                          const v1::UpdateLearnerRequest* request,
                                          v1::UpdateLearnerResponse* response) override;
  grpc::ServerUnaryReactor* PauseLearner(grpc::CallbackServerContext* context,
                                         const v1::PauseLearnerRequest* request,
                                         v1::PauseLearnerResponse* response) override;
  grpc::ServerUnaryReactor* ResumeLearner(grpc::CallbackServerContext* context,
                                          const v1::ResumeLearnerRequest* request,
                                          v1::ResumeLearnerResponse* response) override;
  grpc::ServerUnaryReactor* FreezeLearner(grpc::CallbackServerContext* context,
                                          const v1::FreezeLearnerRequest* request,
                                          v1::FreezeLearnerResponse* response) override;
  grpc::ServerUnaryReactor* ResetLearner(grpc::CallbackServerContext* context,
                                         const v1::ResetLearnerRequest* request,
                                         v1::ResetLearnerResponse* response) override;

 private:
  [[nodiscard]] absl::Status SetMode(const std::string& stream, LearnerState mode,
                                     v1::Learner& learner) const;
  [[nodiscard]] absl::Status Update(const v1::UpdateLearnerRequest& request,
                                    v1::Learner& learner) const;

  // Constant after construction.
  const Guard guard_;
  const Streams& streams_;
  StreamControl& control_;
  CallThread& control_thread_;
};

}  // namespace millrace::service
