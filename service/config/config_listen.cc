// The section `listen`.
#include <arpa/inet.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/config/config_keys.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;
using Json = ConfigJson;
using Target = ConfigTarget;
using Names = std::vector<std::string>;

constexpr WholeType kPort = {0, 65535};

// In the order of ControlFrom.
const Names& Controls() {
  static const Names names = {"off", "loopback", "on"};
  return names;
}

void SetAddress(const Value& at, const Json& value, const Target& target) {
  const std::string address = value;
  in6_addr parsed;
  if (inet_pton(AF_INET, address.c_str(), &parsed) == 1 ||
      inet_pton(AF_INET6, address.c_str(), &parsed) == 1) {
    target.config->listen.address = address;
  } else {
    at.Wrong(absl::StrCat("is '", address,
                          "'; it must be an IP address: 127.0.0.1 for this machine only, "
                          "0.0.0.0 for every network"));
  }
}

GrpcSecurity& Security(const Target& target) { return target.config->listen.security; }

// The key `tls` explains them.
constexpr ConfigKey kTlsKeys[] = {
    {"certificate", PathType{},
     Member([](auto& t) -> auto& { return Security(t).tls.certificate; }), "", ForTasks::kAll,
     kRequired},
    {"key", PathType{}, Member([](auto& t) -> auto& { return Security(t).tls.key; }), "",
     ForTasks::kAll, kRequired},
    {"client_ca", PathType{}, Member([](auto& t) -> auto& { return Security(t).tls.client_ca; })},
};

constexpr ConfigKey kListenKeys[] = {
    {"address",
     TextType{},
     {[](const Target& t) -> Json { return t.config->listen.address; }, SetAddress},
     "127.0.0.1: only this machine can connect. 0.0.0.0: every network of this machine can. This "
     "needs tls or allow_plain_text below: docs/security.md."},
    {"grpc_port", kPort, Member([](auto& t) -> auto& { return t.config->listen.grpc_port; }),
     "Predictions and states of the streams, for programs."},
    {"http_port", kPort, Member([](auto& t) -> auto& { return t.config->listen.http_port; }),
     "The live page, for browsers."},
    {"metrics_port", kPort, Member([](auto& t) -> auto& { return t.config->listen.metrics_port; }),
     "/metrics for Prometheus, and the probes /startupz, /healthz and /readyz."},
    {"max_viewers", WholeType{1, 1000},
     Member([](auto& t) -> auto& { return t.config->listen.max_viewers; }),
     "The number of browsers that may watch the live page at the same time. The server refuses "
     "further ones."},
    {"connection_age_s", WholeType{0, 1'000'000},
     Member([](auto& t) -> auto& { return t.config->listen.connection_age_s; }),
     "The server ends a gRPC connection after this number of seconds. Clients reconnect, and "
     "subscriptions resume. 0: never."},
    {"tls",
     SectionType{[]() -> ConfigKeys { return kTlsKeys; }},
     {},
     "Certificate and key, in PEM, for gRPC with TLS. With client_ca, each client must have a "
     "certificate that an authority in this file has signed (mutual TLS). The server reads changed "
     "files again."},
    {"tokens_file", PathType{}, Member([](auto& t) -> auto& { return Security(t).tokens_file; }),
     "A file of lines 'view TOKEN' and 'control TOKEN': each client must send a token. The server "
     "reads a changed file again."},
    {"control", ChoiceType{Controls},
     Enumeration<Controls>([](auto& t) -> auto& { return Security(t).control; }),
     "Who may call methods that change something, such as labels. loopback: this machine. on: all "
     "clients. off: no client."},
    {"allow_plain_text", FlagType{},
     Member([](auto& t) -> auto& { return Security(t).allow_plain_text; }),
     "true: other machines may connect in plain text. Then anybody may call gRPC (if it has no "
     "tls), and see the live page and the metrics. false: the server refuses such an address "
     "without tls. With tls, the page, the metrics and the probes stay on 127.0.0.1."},
};

void CheckPorts(const Value& root, const Listen& listen) {
  std::set<int> ports;
  for (const auto& [key, port] :
       {std::pair("grpc_port", listen.grpc_port), std::pair("http_port", listen.http_port),
        std::pair("metrics_port", listen.metrics_port)}) {
    if (port == 0 || ports.insert(port).second) continue;
    root.WrongAt("listen", key, absl::StrCat("is ", port, ", which another port is already"));
  }
}

void CheckPlainText(const Value& root, const Value& keys, const Listen& listen) {
  // A TLS section with an error is already reported; its author does not want plain text.
  if (keys.Find("tls") || IsLoopback(listen.address)) return;
  if (!listen.security.tokens_file.empty()) {
    return root.WrongAt("listen", "tokens_file",
                        "needs `tls` beside it: tokens must not leave this machine in plain text");
  }
  if (listen.security.allow_plain_text) return;
  root.WrongAt(
      "listen", "address",
      absl::StrCat("is ", listen.address,
                   ", beyond this machine, where gRPC would be plain text that everybody may "
                   "call; add `tls`, or `allow_plain_text: true` in a network that you trust"));
}

}  // namespace

ConfigKeys ListenKeys() { return kListenKeys; }

void CheckListen(const Value& root, const Listen& listen) {
  const std::optional<Value> keys = root.Find("listen");
  if (!keys) return;
  CheckPorts(root, listen);
  CheckPlainText(root, *keys, listen);
}

}  // namespace millrace::service
