#include "service/api/learner_service.h"

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "pipeline/learner/rate_factor.h"
#include "service/access/peer_address.h"
#include "service/registry/learner_changes.h"
#include "service/wire/wire_learner.h"

namespace millrace::service {
namespace {

void SetRate(double rate, LearnerChange& change, std::vector<FieldViolation>& wrong) {
  change.learning_rate = rate;
  if (pipeline::IsLearningRate(rate)) return;
  wrong.push_back({"learner.learning_rate", absl::StrCat("is ", rate, "; it must be from 0 to 1")});
}

void SetPolicy(const v1::UpdatePolicy& policy, LearnerChange& change,
               std::vector<FieldViolation>& wrong) {
  const auto read = PolicyOf(policy);
  if (read.ok()) {
    change.policy = *read;
  } else {
    wrong.push_back({"learner.policy", std::string(read.status().message())});
  }
}

/// The requested change. An error names every wrong field.
absl::StatusOr<LearnerChange> ChangeOf(const v1::UpdateLearnerRequest& request) {
  LearnerChange change;
  std::vector<FieldViolation> wrong;
  if (request.update_mask().paths().empty()) {
    wrong.push_back({"update_mask", "is empty; name what to change: learning_rate, policy"});
  }
  for (const std::string& path : request.update_mask().paths()) {
    if (path == "learning_rate") {
      SetRate(request.learner().learning_rate(), change, wrong);
    } else if (path == "policy") {
      SetPolicy(request.learner().policy(), change, wrong);
    } else {
      wrong.push_back({"update_mask",
                       absl::StrCat("has '", path, "'; learning_rate and policy can be changed")});
    }
  }
  if (!wrong.empty()) return InvalidFields(wrong);
  return change;
}

/// "set learning_rate from 0.0001 to 0.01".
std::string WhatChanged(const LearnerChange& change, const v1::Learner& before,
                        const v1::Learner& after) {
  std::vector<std::string> set;
  if (change.learning_rate) {
    set.push_back(RateChange(before.learning_rate(), after.learning_rate()));
  }
  if (change.policy) {
    set.push_back(absl::StrCat("set policy from {", before.policy().ShortDebugString(), "} to {",
                               after.policy().ShortDebugString(), "}"));
  }
  return absl::StrJoin(set, " and ");
}

}  // namespace

grpc::ServerUnaryReactor* LearnerService::GetLearner(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  return guard_.Unary<v1::GetLearnerRequest>(
      {context, request, response}, "GetLearner",
      [this](const auto& asked) -> absl::StatusOr<v1::GetLearnerResponse> {
        MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(asked.stream()));
        v1::GetLearnerResponse found;
        ToMessage(*served->stream, *found.mutable_learner());
        return found;
      });
}

grpc::ServerUnaryReactor* LearnerService::UpdateLearner(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return guard_.Unary<v1::UpdateLearnerRequest>(
      {context, request, response}, "UpdateLearner",
      [this, client = AddressOf(context->peer())](const auto& asked) {
        return Update(asked, client);
      });
}

absl::StatusOr<v1::UpdateLearnerResponse> LearnerService::Update(
    const v1::UpdateLearnerRequest& request, const std::string& client) const {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(request.learner().stream()));
  MILLRACE_ASSIGN_OR_RETURN(const LearnerChange change, ChangeOf(request));
  v1::Learner before;
  ToMessage(*served->stream, before);
  MILLRACE_RETURN_IF_ERROR(served->stream->Change(change));
  v1::UpdateLearnerResponse response;
  ToMessage(*served->stream, *response.mutable_learner());
  LogChange(client, before.stream(), WhatChanged(change, before, response.learner()));
  return response;
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* LearnerService::SetMode(const UnaryCall& call, std::string_view method,
                                                  LearnerState mode) const {
  return guard_.Unary<Request>(call, method, [&](const Request& asked) -> absl::StatusOr<Response> {
    MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(asked.stream()));
    MILLRACE_RETURN_IF_ERROR(service::SetMode(*served, mode, AddressOf(call.context->peer())));
    Response response;
    ToMessage(*served->stream, *response.mutable_learner());
    return response;
  });
}

grpc::ServerUnaryReactor* LearnerService::PauseLearner(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return SetMode<v1::PauseLearnerRequest, v1::PauseLearnerResponse>(
      {context, request, response}, "PauseLearner", LearnerState::kPaused);
}

grpc::ServerUnaryReactor* LearnerService::ResumeLearner(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return SetMode<v1::ResumeLearnerRequest, v1::ResumeLearnerResponse>(
      {context, request, response}, "ResumeLearner", LearnerState::kLearning);
}

grpc::ServerUnaryReactor* LearnerService::FreezeLearner(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return SetMode<v1::FreezeLearnerRequest, v1::FreezeLearnerResponse>(
      {context, request, response}, "FreezeLearner", LearnerState::kFrozen);
}

grpc::ServerUnaryReactor* LearnerService::ResetLearner(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return guard_.UnaryOnThread<v1::ResetLearnerRequest>(
      {context, request, response}, "ResetLearner", control_thread_,
      [this](const auto& asked,
             const std::stop_token& stop) -> absl::StatusOr<v1::ResetLearnerResponse> {
        MILLRACE_ASSIGN_OR_RETURN(const SharedStream reset,
                                  changes_.Reset({.name = asked.stream(), .stop = stop}));
        v1::ResetLearnerResponse anew;
        ToMessage(*reset->stream, *anew.mutable_learner());
        return anew;
      });
}

}  // namespace millrace::service
