#include "service/learner_service.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/error_reason.h"
#include "service/status.h"
#include "service/threaded_call.h"
#include "service/wire_learner.h"

namespace millrace::service {
namespace {

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

/// What the request asks for; every field that is wrong is named.
absl::StatusOr<LearnerChange> ChangeOf(const v1::UpdateLearnerRequest& request) {
  LearnerChange change;
  std::vector<FieldViolation> wrong;
  if (request.update_mask().paths().empty()) {
    wrong.push_back({"update_mask", "is empty; name what to change: learning_rate, policy"});
  }
  for (const std::string& path : request.update_mask().paths()) {
    if (path == "learning_rate") {
      change.learning_rate = request.learner().learning_rate();
      if (!(*change.learning_rate >= 0 && *change.learning_rate <= 1)) {
        wrong.push_back({"learner.learning_rate",
                         absl::StrCat("is ", *change.learning_rate, "; it must be from 0 to 1")});
      }
    } else if (path == "policy") {
      const auto policy = PolicyOf(request.learner().policy());
      if (policy.ok()) change.policy = *policy;
      if (!policy.ok()) {
        wrong.push_back({"learner.policy", std::string(policy.status().message())});
      }
    } else {
      wrong.push_back({"update_mask",
                       absl::StrCat("has '", path, "'; learning_rate and policy can be changed")});
    }
  }
  if (!wrong.empty()) return InvalidFields(wrong);
  return change;
}

}  // namespace

grpc::ServerUnaryReactor* LearnerService::GetLearner(grpc::CallbackServerContext* context,
                                                     const v1::GetLearnerRequest* request,
                                                     v1::GetLearnerResponse* response) {
  return guard_.One(*context, "GetLearner", [&]() -> grpc::ServerUnaryReactor* {
    const absl::StatusOr<SharedStream> served = streams_.Find(request->stream());
    if (served.ok()) ToMessage(*(*served)->stream, *response->mutable_learner());
    return Answer(context, served.status());
  });
}

grpc::ServerUnaryReactor* LearnerService::UpdateLearner(grpc::CallbackServerContext* context,
                                                        const v1::UpdateLearnerRequest* request,
                                                        v1::UpdateLearnerResponse* response) {
  return guard_.One(*context, "UpdateLearner", [&]() -> grpc::ServerUnaryReactor* {
    return Answer(context, Update(*request, *response->mutable_learner()));
  });
}

absl::Status LearnerService::Update(const v1::UpdateLearnerRequest& request,
                                    v1::Learner& learner) const {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(request.learner().stream()));
  MILLRACE_ASSIGN_OR_RETURN(const LearnerChange change, ChangeOf(request));
  MILLRACE_RETURN_IF_ERROR(served->stream->Change(change));
  ToMessage(*served->stream, learner);
  return absl::OkStatus();
}

absl::Status LearnerService::SetMode(const std::string& stream, LearnerState mode,
                                     v1::Learner& learner) const {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(stream));
  MILLRACE_RETURN_IF_ERROR(served->stream->SetMode(mode));
  ToMessage(*served->stream, learner);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* LearnerService::PauseLearner(grpc::CallbackServerContext* context,
                                                       const v1::PauseLearnerRequest* request,
                                                       v1::PauseLearnerResponse* response) {
  return guard_.One(*context, "PauseLearner", [&]() -> grpc::ServerUnaryReactor* {
    return Answer(context,
                  SetMode(request->stream(), LearnerState::kPaused, *response->mutable_learner()));
  });
}

grpc::ServerUnaryReactor* LearnerService::ResumeLearner(grpc::CallbackServerContext* context,
                                                        const v1::ResumeLearnerRequest* request,
                                                        v1::ResumeLearnerResponse* response) {
  return guard_.One(*context, "ResumeLearner", [&]() -> grpc::ServerUnaryReactor* {
    return Answer(
        context, SetMode(request->stream(), LearnerState::kLearning, *response->mutable_learner()));
  });
}

grpc::ServerUnaryReactor* LearnerService::FreezeLearner(grpc::CallbackServerContext* context,
                                                        const v1::FreezeLearnerRequest* request,
                                                        v1::FreezeLearnerResponse* response) {
  return guard_.One(*context, "FreezeLearner", [&]() -> grpc::ServerUnaryReactor* {
    return Answer(context,
                  SetMode(request->stream(), LearnerState::kFrozen, *response->mutable_learner()));
  });
}

grpc::ServerUnaryReactor* LearnerService::ResetLearner(grpc::CallbackServerContext* context,
                                                       const v1::ResetLearnerRequest* request,
                                                       v1::ResetLearnerResponse* response) {
  return guard_.One(*context, "ResetLearner", [&]() -> grpc::ServerUnaryReactor* {
    return ThreadedCall::Begin(
        control_thread_, [=, this](const std::stop_token& stop) -> absl::Status {
          MILLRACE_ASSIGN_OR_RETURN(const SharedStream reset,
                                    control_.Reset({.name = request->stream()}, stop));
          ToMessage(*reset->stream, *response->mutable_learner());
          return absl::OkStatus();
        });
  });
}

}  // namespace millrace::service
