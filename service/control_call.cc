#include "service/control_call.h"

#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/error_reason.h"
#include "service/status.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

absl::Status Thrown(const std::string& what) {
  spdlog::error("a change over gRPC failed: {}", what);
  return absl::InternalError(absl::StrCat("this failed: ", what));
}

}  // namespace

grpc::ServerUnaryReactor* ControlCall::Begin(ControlThread& thread, Work work) {
  auto* const call = new ControlCall(std::move(work));
  if (!thread.Post([call] { call->Run(); })) call->Finish(ToGrpcStatus(TooManyChanges()));
  return call;
}

ControlCall::ControlCall(Work work) : work_(std::move(work)) {}

void ControlCall::Run() { Finish(ToGrpcStatus(Guarded())); }

absl::Status ControlCall::Guarded() {
  if (stop_.stop_requested()) return absl::CancelledError("the call was cancelled");
  try {
    return work_(stop_.get_token());
  } catch (const std::exception& error) {
    return Thrown(error.what());
  } catch (...) {
    return Thrown("it threw something that is no std::exception");
  }
}

}  // namespace millrace::service
