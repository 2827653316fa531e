#include "service/web/page_control.h"

#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/learner/rate_factor.h"
#include "service/access/grpc_security.h"
#include "service/access/peer_address.h"
#include "service/registry/learner_changes.h"
#include "service/web/page_host.h"

namespace millrace::service {
namespace {

using nlohmann::json;

int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

HttpResponse Response(int status, const json& said) {
  constexpr auto kReplace = json::error_handler_t::replace;
  return {.status = status,
          .content_type = "application/json",
          .body = said.dump(-1, ' ', false, kReplace)};
}

absl::StatusOr<json> SetMode(const ServedStream& served, LearnerState mode,
                             const HttpRequest& request) {
  MILLRACE_RETURN_IF_ERROR(SetMode(served, mode, request.remote_address));
  return json({{"learner", std::string(Name(mode))}});
}

}  // namespace

PageControl::PageControl(const StreamRegistry& streams, const Admission& admission,
                         const GrpcSecurity& security)
    : streams_(streams),
      admission_(admission),
      wants_tokens_(!security.tokens_file.empty()),
      wants_certificates_(!security.tls.client_ca.empty()),
      speaks_tls_(security.tls.on()),
      off_(security.control == ControlFrom::kNowhere),
      checkpoints_(std::make_shared<Checkpoints>()) {}

std::vector<HttpRoute> PageControl::Routes() {
  std::vector<HttpRoute> routes;
  for (const auto& [name, act] : {std::pair<const char*, Act>("pause", &PageControl::Pause),
                                  {"freeze", &PageControl::Freeze},
                                  {"resume", &PageControl::Resume},
                                  {"learning_rate", &PageControl::SetRate},
                                  {"checkpoint", &PageControl::WriteCheckpoint}}) {
    routes.push_back(
        {.pattern = absl::StrCat("/api/streams/*/", name),
         .handler = [this, act = act](const auto& request) { return Do(request, act); },
         .method = "POST"});
  }
  return routes;
}

absl::Status PageControl::AdmitOrigin(const HttpRequest& request) const {
  const std::string host = request.Header("host");
  const std::string origin = OriginOf(request);
  const bool ours = origin == absl::StrCat("http://", host) ||
                    (wants_tokens_ && origin == absl::StrCat("https://", host));
  // The page's referrer policy may make the browser omit the origin.
  if ((!origin.empty() && !ours) || IsOfAnotherSite(request)) {
    return absl::PermissionDeniedError(
        "the page's buttons work only where it is opened at this server's own address. Another "
        "way is a token (listen.tokens_file), through a proxy that passes the Host on");
  }
  if (wants_tokens_) return absl::OkStatus();
  if (WasForwarded(request)) {
    return absl::PermissionDeniedError(
        "through a proxy, for which everybody comes from its own machine, the page's buttons need "
        "a token (listen.tokens_file)");
  }
  if (!NamesAnAddress(request)) {
    return absl::PermissionDeniedError(
        "to use its buttons open the page by its address, as http://127.0.0.1:8080; by a name they "
        "need a token (listen.tokens_file)");
  }
  return absl::OkStatus();
}

absl::Status PageControl::AdmitPage(const HttpRequest& request) const {
  if (off_) {
    return absl::PermissionDeniedError(
        "listen.control is off: no client may use the page's buttons");
  }
  MILLRACE_RETURN_IF_ERROR(AdmitOrigin(request));
  if (wants_certificates_) {
    return absl::PermissionDeniedError(
        "this server wants certificates of its clients, and a page has no certificate: use gRPC");
  }
  if ((wants_tokens_ || speaks_tls_) && !IsLoopback(request.remote_address)) {
    return absl::PermissionDeniedError(
        "to use its buttons open the page on the server's own machine, or through a tunnel. It "
        "is plain text, which must not cross a network here");
  }
  return absl::OkStatus();
}

absl::Status PageControl::Admit(const HttpRequest& request) const {
  MILLRACE_RETURN_IF_ERROR(AdmitPage(request));
  const bool v6 = absl::StrContains(request.remote_address, ':');
  CallFacts call = {.method = "this button",
                    .peer = v6 ? absl::StrCat("ipv6:[", request.remote_address, "]:0")
                               : absl::StrCat("ipv4:", request.remote_address, ":0"),
                    .authorization = {}};
  const std::string authorization = request.Header("authorization");
  if (!authorization.empty()) call.authorization.push_back(authorization);
  return admission_.Admit(call);
}

bool PageControl::TakesToken(const HttpRequest& request) const {
  return wants_tokens_ && AdmitPage(request).ok();
}

HttpResponse PageControl::Do(const HttpRequest& request, Act act) {
  const auto answer = [&]() -> Answer {
    MILLRACE_RETURN_IF_ERROR(Admit(request));
    MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(request.captures[0]));
    return (this->*act)(*served, request);
  }();
  if (answer.ok()) return Response(200, *answer);
  return Response(HttpStatusOf(answer.status()),
                  {{"error", std::string(answer.status().message())}});
}

PageControl::Answer PageControl::Pause(const ServedStream& served, const HttpRequest& request) {
  return SetMode(served, LearnerState::kPaused, request);
}

PageControl::Answer PageControl::Freeze(const ServedStream& served, const HttpRequest& request) {
  return SetMode(served, LearnerState::kFrozen, request);
}

PageControl::Answer PageControl::Resume(const ServedStream& served, const HttpRequest& request) {
  return SetMode(served, LearnerState::kLearning, request);
}

PageControl::Answer PageControl::SetRate(const ServedStream& served, const HttpRequest& request) {
  double rate = 0;
  const std::optional<std::string> text = request.Parameter("value");
  if (!text || !absl::SimpleAtod(*text, &rate) || !pipeline::IsLearningRate(rate)) {
    return absl::InvalidArgumentError("a learning rate is a number from 0 to 1");
  }
  const double before = served.stream->Snapshot().learning_rate;
  MILLRACE_RETURN_IF_ERROR(served.stream->Change({.learning_rate = rate}));
  LogChange(request.remote_address, served.stream->config().name, RateChange(before, rate));
  return json({{"learning_rate", rate}});
}

nlohmann::json PageControl::CheckpointOf(const ServedStream& served) const {
  const MutexLock lock(checkpoints_->mu);
  const auto found = checkpoints_->of_run.find(served.run_id);
  return found == checkpoints_->of_run.end() ? json() : found->second;
}

bool PageControl::BeginCheckpoint(const ServedStream& served) {
  std::set<std::string> runs;
  for (const SharedStream& each : streams_.All()) runs.insert(each->run_id);
  const MutexLock lock(checkpoints_->mu);
  std::erase_if(checkpoints_->of_run,
                [&](const auto& entry) { return !runs.contains(entry.first); });
  json& outcome = checkpoints_->of_run[served.run_id];
  const bool waits = outcome.contains("waiting");
  outcome = {{"waiting", true}};
  return waits;
}

PageControl::Answer PageControl::WriteCheckpoint(const ServedStream& served,
                                                 const HttpRequest& /*request*/) {
  if (BeginCheckpoint(served)) return CheckpointOf(served);
  // If the call below throws, no callback will come: reset the state so that the next request can
  // retry.
  absl::Cleanup set_back = [this, &served] {
    const MutexLock lock(checkpoints_->mu);
    checkpoints_->of_run.erase(served.run_id);
  };
  served.stream->WriteCheckpoint({}, [checkpoints = checkpoints_,
                                      run = served.run_id](const auto& name) {
    const MutexLock lock(checkpoints->mu);
    checkpoints->of_run[run] = name.ok() ? json({{"written", *name}})
                                         : json({{"error", std::string(name.status().message())}});
  });
  std::move(set_back).Cancel();
  return CheckpointOf(served);
}

}  // namespace millrace::service
