// Connects `millrace watch` to a server: in plain text or by TLS, with or without a token.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::service {

struct WatchSecurity {
  /// Use TLS. Any TLS file below implies it.
  bool tls = false;
  /// PEM: the trusted authorities, in place of the machine's own.
  std::string ca_file = {};
  /// PEM: the client's certificate and key, for servers that require one. Set both or neither.
  std::string certificate_file = {};
  std::string key_file = {};
  /// The name in the server's certificate, if it differs from the address.
  std::string server_name = {};
  /// The file that contains the token; it must not be readable by other users.
  std::string token_file = {};
};

[[nodiscard]] bool SpeaksTls(const WatchSecurity& security);

/// A channel and the credentials for each call.
struct WatchChannel {
  std::shared_ptr<grpc::Channel> channel;
  /// "Bearer ..."; empty: no token.
  std::string authorization = {};
};

/// Connects on first use. Fails with NOT_FOUND or INVALID_ARGUMENT, and a remedy, for an invalid
/// address (a browser's URL, or no port) or an invalid file. Fails so, too, if a token would leave
/// this machine in plain text.
[[nodiscard]] absl::StatusOr<WatchChannel> OpenWatchChannel(const std::string& address,
                                                            const WatchSecurity& security);

}  // namespace millrace::service
