// The actions of the live page's buttons: pause, freeze and resume a learner, change its learning
// rate, write a checkpoint.
//
// A client that is admitted over gRPC is admitted here by the same rules (admission.h). More rules
// apply because the page is plain HTTP in a browser:
//
// - A page of another site cannot press the buttons. A request with an `Origin` or `Sec-Fetch-Site`
//   header must come from the page itself. If no token is needed, the browser must have opened the
//   page under an IP address or `localhost`, which DNS rebinding cannot imitate (page_host.h).
// - Other machines cannot press the buttons through a proxy on this machine, whose requests all
//   seem local: a forwarded request needs a token. With a token, the proxy may speak TLS under the
//   same host name.
// - If gRPC uses TLS or tokens, the buttons work only on this machine: data that gRPC protects
//   never crosses a network in plain text here.
// - If gRPC requires client certificates, no client may press the buttons: a page has no
//   certificate.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "nlohmann/json.hpp"
#include "service/access/admission.h"
#include "service/net/http_message.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// Thread-safe. The constructor's arguments must outlive it.
class PageControl {
 public:
  /// `security`: the options that `admission` was made from.
  PageControl(const StreamRegistry& streams, const Admission& admission,
              const GrpcSecurity& security);

  PageControl(const PageControl&) = delete;
  PageControl& operator=(const PageControl&) = delete;

  /// POST "/api/streams/NAME/pause", ".../freeze", ".../resume", ".../checkpoint" and
  /// ".../learning_rate?value=0.001". They answer at once, in JSON: the current state, or an
  /// "error". The routes refer to this object.
  [[nodiscard]] std::vector<HttpRoute> Routes();

  /// Whether the sender of `request` may press the buttons, as far as a GET request shows. A GET
  /// has a referrer in place of an origin.
  [[nodiscard]] absl::Status Admit(const HttpRequest& request) const;

  /// Whether a token, or another one, would let the sender of `request` press the buttons.
  [[nodiscard]] bool TakesToken(const HttpRequest& request) const;

  /// Outcome of the latest checkpoint request: null, {"waiting": true}, {"written": NAME} or
  /// {"error": TEXT}. A checkpoint waits until its weights are validated.
  [[nodiscard]] nlohmann::json CheckpointOf(const ServedStream& served) const;

 private:
  /// Keyed by run_id. Shared with the pending requests, which may finish after this object's
  /// destruction.
  struct Checkpoints {
    Mutex mu;
    std::map<std::string, nlohmann::json> of_run ABSL_GUARDED_BY(mu);
  };
  /// Whether the request comes from this server's own page.
  [[nodiscard]] absl::Status AdmitOrigin(const HttpRequest& request) const;
  /// AdmitOrigin(), and whether the connection may carry data that gRPC protects.
  [[nodiscard]] absl::Status AdmitPage(const HttpRequest& request) const;

  using Answer = absl::StatusOr<nlohmann::json>;
  using Act = Answer (PageControl::*)(const ServedStream& served, const HttpRequest& request);

  [[nodiscard]] HttpResponse Do(const HttpRequest& request, Act act);
  Answer Pause(const ServedStream& served, const HttpRequest& request);
  Answer Freeze(const ServedStream& served, const HttpRequest& request);
  Answer Resume(const ServedStream& served, const HttpRequest& request);
  Answer SetRate(const ServedStream& served, const HttpRequest& request);
  /// Removes entries of deleted streams. Returns whether a checkpoint of `served` is already
  /// pending.
  [[nodiscard]] bool BeginCheckpoint(const ServedStream& served);
  Answer WriteCheckpoint(const ServedStream& served, const HttpRequest& request);

  const StreamRegistry& streams_;
  const Admission& admission_;
  const bool wants_tokens_;
  const bool wants_certificates_;
  const bool speaks_tls_;
  const bool off_;
  const std::shared_ptr<Checkpoints> checkpoints_;
};

}  // namespace millrace::service
