// What the live page's buttons do: pause, freeze and resume a learner, change its rate, take a
// checkpoint.
//
// Whoever may do it over gRPC may do it here, by the same rules (admission.h). Some come on top,
// because the page is plain HTTP in a browser:
//
// - A page of another site cannot press the buttons. A request that names an origin, or says
//   `Sec-Fetch-Site`, must come from the page itself; and where no token is needed, the page must
//   have been opened by an address, which no name of somebody else's can be made to stand for
//   (page_host.h).
// - Nobody else can press them through a proxy on this machine, for whom everybody comes from here:
//   what was forwarded needs a token. With one, the proxy may speak TLS under the same host's name.
// - Where gRPC is TLS or wants tokens, the buttons are for this machine only: nothing that is
//   protected there crosses a network in plain text here.
// - Where gRPC wants certificates of its clients, nobody may press them: a page has none.
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
#include "service/registry/streams.h"

namespace millrace::service {

/// Thread-safe. What it is made of must outlive it.
class PageControl {
 public:
  /// `security`: what `admission` was made of.
  PageControl(const Streams& streams, const Admission& admission, const GrpcSecurity& security);

  PageControl(const PageControl&) = delete;
  PageControl& operator=(const PageControl&) = delete;

  /// POST "/api/streams/NAME/pause", ".../freeze", ".../resume", ".../checkpoint" and
  /// ".../learning_rate?value=0.001". They answer at once, in JSON: what is so now, or an "error".
  /// They refer to this object.
  [[nodiscard]] std::vector<HttpRoute> Routes();

  /// Whether who sends `request` may press the buttons, as far as a GET of the page's can tell: it
  /// says by its referrer what a press says by its origin.
  [[nodiscard]] absl::Status Admit(const HttpRequest& request) const;

  /// Whether a token, or another one, may open them to who sends `request`.
  [[nodiscard]] bool TakesToken(const HttpRequest& request) const;

  /// What came of the checkpoint that was asked for last: null, {"waiting": true}, {"written":
  /// NAME} or {"error": TEXT}. It waits for weights that prove good.
  [[nodiscard]] nlohmann::json CheckpointOf(const ServedStream& served) const;

 private:
  /// By the streams' run ids. Shared with the requests, which may be answered later than this ends.
  struct Checkpoints {
    Mutex mu;
    std::map<std::string, nlohmann::json> of_run ABSL_GUARDED_BY(mu);
  };
  /// Whether the page is one of ours.
  [[nodiscard]] absl::Status AdmitOrigin(const HttpRequest& request) const;
  /// Whether it is, and was reached in a way that may carry what gRPC protects.
  [[nodiscard]] absl::Status AdmitPage(const HttpRequest& request) const;

  using Answer = absl::StatusOr<nlohmann::json>;
  using Act = Answer (PageControl::*)(const ServedStream& served, const HttpRequest& request);

  [[nodiscard]] HttpResponse Do(const HttpRequest& request, Act act);
  Answer Pause(const ServedStream& served, const HttpRequest& request);
  Answer Freeze(const ServedStream& served, const HttpRequest& request);
  Answer Resume(const ServedStream& served, const HttpRequest& request);
  Answer SetRate(const ServedStream& served, const HttpRequest& request);
  /// Forgets the streams that there are no more. Returns whether one of `served` is under way.
  [[nodiscard]] bool BeginCheckpoint(const ServedStream& served);
  Answer WriteCheckpoint(const ServedStream& served, const HttpRequest& request);

  const Streams& streams_;
  const Admission& admission_;
  const bool wants_tokens_;
  const bool wants_certificates_;
  const bool speaks_tls_;
  const bool off_;
  const std::shared_ptr<Checkpoints> checkpoints_;
};

}  // namespace millrace::service
