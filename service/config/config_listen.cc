#include "service/config/config_listen.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/config/config_checks.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;

constexpr bool kRequired = true;
constexpr bool kOptional = false;

constexpr WholeRange kPort{0, 65535};
// In the order of ControlFrom.
constexpr std::array<std::string_view, 3> kControls = {"off", "loopback", "on"};

void ReadAddress(const Value& value, Listen& listen) {
  std::string address = listen.address;
  value.Text(address);
  in6_addr parsed;
  if (inet_pton(AF_INET, address.c_str(), &parsed) == 1 ||
      inet_pton(AF_INET6, address.c_str(), &parsed) == 1) {
    listen.address = std::move(address);
  } else {
    value.Wrong(absl::StrCat("is '", address,
                             "'; it must be an IP address: 127.0.0.1 for this machine only, "
                             "0.0.0.0 for every network"));
  }
}

void ReadControl(const Value& value, Listen& listen) {
  std::string name(kControls.at(static_cast<std::size_t>(listen.security.control)));
  value.OneOf(kControls, name);
  listen.security.control =
      static_cast<ControlFrom>(std::ranges::find(kControls, name) - kControls.begin());
}

constexpr ConfigKey<GrpcSecurity::Tls> kTlsKeys[] = {
    {"certificate", kRequired,
     [](const Value& v, GrpcSecurity::Tls& tls) { v.Path(tls.certificate); }},
    {"key", kRequired, [](const Value& v, GrpcSecurity::Tls& tls) { v.Path(tls.key); }},
    {"client_ca", kOptional, [](const Value& v, GrpcSecurity::Tls& tls) { v.Path(tls.client_ca); }},
};

constexpr ConfigKey<Listen> kListenKeys[] = {
    {"address", kOptional, ReadAddress},
    {"grpc_port", kOptional, [](const Value& v, Listen& l) { v.Whole(kPort, l.grpc_port); }},
    {"http_port", kOptional, [](const Value& v, Listen& l) { v.Whole(kPort, l.http_port); }},
    {"metrics_port", kOptional, [](const Value& v, Listen& l) { v.Whole(kPort, l.metrics_port); }},
    {"max_viewers", kOptional,
     [](const Value& v, Listen& l) {
       v.Whole({1, 1000}, l.max_viewers);
     }},
    {"connection_age_s", kOptional,
     [](const Value& v, Listen& l) {
       v.Whole({0, 1'000'000}, l.connection_age_s);
     }},
    {"tls", kOptional,
     [](const Value& v, Listen& l) { v.Map<GrpcSecurity::Tls>(kTlsKeys, l.security.tls); }},
    {"tokens_file", kOptional, [](const Value& v, Listen& l) { v.Path(l.security.tokens_file); }},
    {"control", kOptional, ReadControl},
    {"allow_plain_text", kOptional,
     [](const Value& v, Listen& l) { v.Flag(l.security.allow_plain_text); }},
};

void CheckPorts(const Value& root, const Listen& listen) {
  std::set<int> ports;
  for (const auto& [key, port] :
       {std::pair("grpc_port", listen.grpc_port), std::pair("http_port", listen.http_port),
        std::pair("metrics_port", listen.metrics_port)}) {
    if (port == 0 || ports.insert(port).second) continue;
    WrongAt(root, "listen", key, absl::StrCat("is ", port, ", which another port is already"));
  }
}

void CheckPlainText(const Value& root, const Value& keys, const Listen& listen) {
  // A TLS section with an error is already reported; its author does not want plain text.
  if (keys.Find("tls") || IsLoopback(listen.address)) return;
  if (!listen.security.tokens_file.empty()) {
    return WrongAt(root, "listen", "tokens_file",
                   "needs `tls` beside it: tokens must not leave this machine in plain text");
  }
  if (listen.security.allow_plain_text) return;
  WrongAt(root, "listen", "address",
          absl::StrCat("is ", listen.address,
                       ", beyond this machine, where gRPC would be plain text that everybody may "
                       "call; add `tls`, or `allow_plain_text: true` in a network that you trust"));
}

}  // namespace

void ReadListen(const Value& value, Listen& listen) { value.Map<Listen>(kListenKeys, listen); }

void CheckListen(const Value& root, const Listen& listen) {
  const std::optional<Value> keys = root.Find("listen");
  if (!keys) return;
  CheckPorts(root, listen);
  CheckPlainText(root, *keys, listen);
}

}  // namespace millrace::service
