#include "service/page_control.h"

#include <arpa/inet.h>

#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/grpc_security.h"

namespace millrace::service {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kCheckpointPatience(10);
constexpr int kMostWaiting = 3;

/// "127.0.0.1:8080" -> "127.0.0.1", "[::1]:8080" -> "::1".
std::string NameOfHost(const std::string& host) {
  if (absl::StartsWith(host, "[")) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool IsAddress(const std::string& name) {
  in6_addr parsed;
  return inet_pton(AF_INET, name.c_str(), &parsed) == 1 ||
         inet_pton(AF_INET6, name.c_str(), &parsed) == 1;
}

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
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
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

absl::StatusOr<json> SetMode(const ServedStream& served, LearnerState mode) {
  MILLRACE_RETURN_IF_ERROR(served.stream->SetMode(mode));
  return json({{"learner", std::string(Name(mode))}});
}

}  // namespace

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

absl::Status PageControl::Admit(const HttpRequest& request) const {
  const std::string host = request.Header("host");
  const std::string origin = request.Header("origin");
  if (!origin.empty() && origin != absl::StrCat("http://", host)) {
    return absl::PermissionDeniedError(
        "the page's buttons work only where it is opened at this server's own address");
  }
  const std::string name = NameOfHost(host);
  if (!tokens_ && !IsAddress(name) && name != "localhost") {
    return absl::PermissionDeniedError(
        "open the page by its address, as http://127.0.0.1:8080, to use its buttons: by a name "
        "they "
        "need a token (listen.tokens_file)");
  }
  const bool here = IsLoopback(request.remote_address);
  if (tokens_ && !here) {
    return absl::PermissionDeniedError(
        "open the page on the server's own machine, or through a tunnel, to use its buttons: a "
        "token must not cross a network in plain text");
  }
  const bool v6 = absl::StrContains(request.remote_address, ':');
  CallFacts call = {.method = "this button",
                    .peer = v6 ? absl::StrCat("ipv6:[", request.remote_address, "]:0")
                               : absl::StrCat("ipv4:", request.remote_address, ":0"),
                    .authorization = {}};
  const std::string authorization = request.Header("authorization");
  if (!authorization.empty()) call.authorization.push_back(authorization);
  return admission_.Admit(call);
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

PageControl::Answer PageControl::Pause(const ServedStream& served, const HttpRequest& /*request*/) {
  return SetMode(served, LearnerState::kPaused);
}

PageControl::Answer PageControl::Freeze(const ServedStream& served,
                                        const HttpRequest& /*request*/) {
  return SetMode(served, LearnerState::kFrozen);
}

PageControl::Answer PageControl::Resume(const ServedStream& served,
                                        const HttpRequest& /*request*/) {
  return SetMode(served, LearnerState::kLearning);
}

PageControl::Answer PageControl::SetRate(const ServedStream& served, const HttpRequest& request) {
  double rate = 0;
  const std::optional<std::string> text = request.Parameter("value");
  if (!text || !absl::SimpleAtod(*text, &rate) || !(rate >= 0 && rate <= 1)) {
    return absl::InvalidArgumentError("a learning rate is a number from 0 to 1");
  }
  MILLRACE_RETURN_IF_ERROR(served.stream->Change({.learning_rate = rate}));
  return json({{"learning_rate", rate}});
}

PageControl::Answer PageControl::WriteCheckpoint(const ServedStream& served,
                                                 const HttpRequest& /*request*/) {
  const absl::Cleanup gone = [this] { --waiting_; };
  if (++waiting_ > kMostWaiting) {
    return absl::UnavailableError("others wait for a checkpoint already; try again in a moment");
  }
  // Shared: it may come when nobody waits any more.
  const auto written = std::make_shared<std::promise<absl::StatusOr<std::string>>>();
  std::future<absl::StatusOr<std::string>> result = written->get_future();
  std::stop_source stop;
  served.stream->WriteCheckpoint(
      stop.get_token(),
      [written](const absl::StatusOr<std::string>& name) { written->set_value(name); });
  if (result.wait_for(kCheckpointPatience) != std::future_status::ready) {
    stop.request_stop();
    return absl::DeadlineExceededError(
        "no checkpoint within ten seconds: it is taken of the next weights that prove good, and "
        "may "
        "still be written");
  }
  MILLRACE_ASSIGN_OR_RETURN(const std::string name, result.get());
  return json({{"checkpoint", name}});
}

}  // namespace millrace::service
