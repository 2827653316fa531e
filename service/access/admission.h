// Decides which calls of the API are served: the one place that does.
//
// gRPC 1.51 can refuse a call before its handler only by credentials of a secure port, which know
// no address, and its interceptors cannot refuse one at all. So each method of each service asks a
// guard (guard.h) first, which asks here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "service/access/grpc_security.h"
#include "service/access/tokens.h"

namespace millrace::service {

/// What is known of a call before it is served.
struct CallFacts {
  /// "millrace.v1.StreamService/GetStream".
  std::string_view method;
  /// As gRPC writes it: "ipv4:127.0.0.1:40312", "ipv6:%5B::1%5D:40312".
  std::string peer;
  /// The values of its metadata `authorization`.
  std::vector<std::string_view> authorization;
};

/// Whether `method` only looks. One that is not known to does not.
[[nodiscard]] bool OnlyViews(std::string_view method);

/// Thread-safe.
class Admission {
 public:
  /// Fails as TokenFile::Open() does.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Admission>> Make(
      const GrpcSecurity& security);

  /// OK if the call may be served. UNAUTHENTICATED without a token that is known, where there are
  /// any; PERMISSION_DENIED if the method needs another role, or is not for calls from there. The
  /// message says what to do, and repeats nothing secret. The log warns of a wrong token.
  [[nodiscard]] absl::Status Admit(const CallFacts& call) const;

 private:
  Admission(ControlFrom control, std::unique_ptr<TokenFile> tokens);

  /// What the client may do. UNAUTHENTICATED if it does not show that it may anything.
  [[nodiscard]] absl::StatusOr<Role> RoleOf(const CallFacts& call) const;

  // Constant after construction; the tokens are self-synchronized.
  const ControlFrom control_;
  const std::unique_ptr<TokenFile> tokens_;  // Null: everybody may do everything.
};

}  // namespace millrace::service
