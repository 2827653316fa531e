#include "service/access/grpc_security.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

constexpr unsigned kLoopbackNetwork = 127;

std::string_view ControlInWords(ControlFrom from) {
  switch (from) {
    case ControlFrom::kNowhere:
      return "no control";
    case ControlFrom::kLoopback:
      return "control from this machine only";
    case ControlFrom::kAnywhere:
      return "control from anywhere";
  }
  return "";
}

}  // namespace

bool IsLoopback(std::string_view address) {
  const std::string text(address);
  in_addr v4 = {};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == kLoopbackNetwork;
  }
  in6_addr v6 = {};
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return false;
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6);
  return IN6_IS_ADDR_LOOPBACK(&v6) || (mapped && v6.s6_addr[12] == kLoopbackNetwork);
}

std::string Describe(const GrpcSecurity& security) {
  return absl::StrCat(security.tls.on() ? "TLS" : "plain text",
                      security.tls.client_ca.empty() ? "" : ", client certificates",
                      security.tokens_file.empty() ? "" : ", tokens", ", ",
                      std::string(ControlInWords(security.control)));
}

}  // namespace millrace::service
