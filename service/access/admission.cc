#include "service/access/admission.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/access/peer_address.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

/// The methods that change nothing and accept a token of the role `view`. All other methods need
/// the role `control`.
constexpr std::array kViewMethods = std::to_array<std::string_view>({
    "inference.GRPCInferenceService/ModelInfer",
    "inference.GRPCInferenceService/ModelMetadata",
    "inference.GRPCInferenceService/ModelReady",
    "inference.GRPCInferenceService/ModelStreamInfer",
    "inference.GRPCInferenceService/ServerLive",
    "inference.GRPCInferenceService/ServerMetadata",
    "inference.GRPCInferenceService/ServerReady",
    "millrace.v1.CheckpointService/ListCheckpoints",
    "millrace.v1.LearnerService/GetLearner",
    "millrace.v1.PredictionService/GetLatest",
    "millrace.v1.PredictionService/Predict",
    "millrace.v1.PredictionService/Subscribe",
    "millrace.v1.StreamService/GetStream",
    "millrace.v1.StreamService/ListStreams",
    "millrace.v1.StreamService/WatchStreams",
});

constexpr std::string_view kScheme = "Bearer ";

absl::Status NoToken() {
  return absl::UnauthenticatedError(
      "this server wants a token: send the metadata 'authorization' with 'Bearer TOKEN'");
}

absl::Status Denied(const CallFacts& call, std::string_view why) {
  return absl::PermissionDeniedError(absl::StrCat(std::string(call.method), " ", std::string(why)));
}

}  // namespace

bool OnlyViews(std::string_view method) {
  return std::ranges::find(kViewMethods, method) != kViewMethods.end();
}

absl::StatusOr<std::unique_ptr<Admission>> Admission::Make(const GrpcSecurity& security) {
  std::unique_ptr<TokenFile> tokens;
  if (!security.tokens_file.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(tokens, TokenFile::Open(security.tokens_file));
  }
  return std::unique_ptr<Admission>(new Admission(security.control, std::move(tokens)));
}

Admission::Admission(ControlFrom control, std::unique_ptr<TokenFile> tokens)
    : control_(control), tokens_(std::move(tokens)) {}

absl::Status Admission::Admit(const CallFacts& call) const {
  MILLRACE_ASSIGN_OR_RETURN(const Role role, RoleOf(call));
  if (OnlyViews(call.method)) return absl::OkStatus();
  if (control_ == ControlFrom::kNowhere) {
    return Denied(call, "changes what the server does, and listen.control is off");
  }
  if (control_ == ControlFrom::kLoopback && !IsLoopback(AddressOf(call.peer))) {
    return Denied(call,
                  "changes what the server does: call it from the server's own machine, or set "
                  "listen.control to on");
  }
  if (role == Role::kControl) return absl::OkStatus();
  return Denied(call, "needs a token of the role control; this one may only view");
}

absl::StatusOr<Role> Admission::RoleOf(const CallFacts& call) const {
  if (tokens_ == nullptr) return Role::kControl;
  if (call.authorization.size() != 1) return NoToken();
  const std::string_view said = call.authorization.front();
  if (!absl::StartsWithIgnoreCase({said.data(), said.size()}, {kScheme.data(), kScheme.size()})) {
    return NoToken();
  }
  const std::optional<Role> role = tokens_->RoleOf(said.substr(kScheme.size()));
  if (role) return *role;
  // This warning makes a brute-force attempt visible. The log sums up repeats.
  spdlog::warn("a call with an unknown token was refused; it came from {}", AddressOf(call.peer));
  return absl::UnauthenticatedError(
      "this server does not know the token: ask its owner for one (listen.tokens_file)");
}

}  // namespace millrace::service
