#include "service/commands/watch/watch_channel.h"

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/access/pem_files.h"
#include "service/access/private_file.h"
#include "service/access/token_text.h"

namespace millrace::service {
namespace {

/// Whether gRPC would parse the address as another kind than HOST:PORT: "unix:/run/millrace.sock".
bool HasSchemeOfGrpc(const std::string& address) {
  constexpr auto kSchemes =
      std::to_array<const char*>({"dns:", "ipv4:", "ipv6:", "unix:", "unix-abstract:", "vsock:"});
  return std::ranges::any_of(kSchemes,
                             [&](const char* scheme) { return address.starts_with(scheme); });
}

bool HasPort(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) return false;
  const bool v6 = address.starts_with('[');
  if (v6 ? address[colon - 1] != ']' : address.find(':') != colon) return false;
  return std::all_of(address.begin() + static_cast<std::ptrdiff_t>(colon) + 1, address.end(),
                     [](unsigned char c) { return absl::ascii_isdigit(c); });
}

/// gRPC would resolve "http" as a host name, and default to port 443.
absl::Status CheckAddress(const std::string& address) {
  if (HasSchemeOfGrpc(address)) return absl::OkStatus();
  if (const std::size_t scheme = address.find("://"); scheme != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("'", address, "': leave out ",
                                                   address.substr(0, scheme + 3),
                                                   ", and write HOST:PORT, as 127.0.0.1:50051"));
  }
  if (HasPort(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", address, "' has no port; write HOST:PORT, as 127.0.0.1:50051 or [::1]:50051"));
}

bool IsOfThisMachine(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "localhost" || host == "::1";
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(
    const WatchSecurity& security) {
  if (!SpeaksTls(security)) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions tls;
  if (!security.ca_file.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(tls.pem_root_certs, ReadCertificates({security.ca_file, "--ca"}));
  }
  if (!security.certificate_file.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(
        Identity identity,
        ReadIdentity({security.certificate_file, "--certificate"}, {security.key_file, "--key"}));
    tls.pem_cert_chain = std::move(identity.certificate);
    tls.pem_private_key = std::move(identity.key);
  }
  return grpc::SslCredentials(tls);
}

absl::StatusOr<std::string> AuthorizationOf(const std::string& address,
                                            const WatchSecurity& security) {
  if (security.token_file.empty()) return std::string();
  if (!SpeaksTls(security) && !IsOfThisMachine(address)) {
    return absl::InvalidArgumentError(
        "the token would go there in plain text; add --tls, or --ca FILE with the certificate "
        "authority");
  }
  MILLRACE_ASSIGN_OR_RETURN(const std::string text,
                            ReadPrivateFile(security.token_file, "--token-file"));
  MILLRACE_ASSIGN_OR_RETURN(const std::string token,
                            TokenAlone(text, "--token-file", security.token_file));
  return absl::StrCat("Bearer ", token);
}

/// Pings a connection that was silent for a minute, and gives it up without an answer. Otherwise a
/// call would wait forever on a connection that a power cut has ended.
void SetKeepalive(grpc::ChannelArguments& arguments) {
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA,
                   0);  // No limit on pings while the connection is silent.
}

}  // namespace

bool SpeaksTls(const WatchSecurity& security) {
  return security.tls || !security.ca_file.empty() || !security.certificate_file.empty();
}

absl::StatusOr<WatchChannel> OpenWatchChannel(const std::string& address,
                                              const WatchSecurity& security) {
  MILLRACE_RETURN_IF_ERROR(CheckAddress(address));
  WatchChannel opened;
  MILLRACE_ASSIGN_OR_RETURN(opened.authorization, AuthorizationOf(address, security));
  MILLRACE_ASSIGN_OR_RETURN(const auto credentials, CredentialsOf(security));
  grpc::ChannelArguments arguments;
  SetKeepalive(arguments);
  if (!security.server_name.empty()) arguments.SetSslTargetNameOverride(security.server_name);
  opened.channel = grpc::CreateCustomChannel(address, credentials, arguments);
  return opened;
}

}  // namespace millrace::service
