// How `millrace watch` reaches a server: in plain text or by TLS, with a token or without.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::service {

struct WatchSecurity {
  /// TLS; also where any of the files of TLS is named.
  bool tls = false;
  /// PEM: whom to trust instead of those that the machine trusts.
  std::string ca_file = {};
  /// PEM: who asks, where the server wants to know. Both or neither.
  std::string certificate_file = {};
  std::string key_file = {};
  /// The name in the server's certificate, where it is not that of the address.
  std::string server_name = {};
  /// Holds the token, and is kept from others.
  std::string token_file = {};
};

[[nodiscard]] bool SpeaksTls(const WatchSecurity& security);

/// A channel and what goes along with each call.
struct WatchChannel {
  std::shared_ptr<grpc::Channel> channel;
  /// "Bearer ..."; empty: no token.
  std::string authorization = {};
};

/// NOT_FOUND or INVALID_ARGUMENT, with what to do, if the address is a URL of a browser or has no
/// port, a file is not as it should be, or a token
/// would leave this machine in plain text. Connects when it is first used.
[[nodiscard]] absl::StatusOr<WatchChannel> OpenWatchChannel(const std::string& address,
                                                            const WatchSecurity& security);

}  // namespace millrace::service
