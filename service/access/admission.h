// Decides which calls of the API are served. No other component decides that.
//
// gRPC 1.51 offers no better place. Credentials refuse calls only on a secure port, and they see no
// address. Interceptors cannot refuse a call at all. So each method first calls a Guard (guard.h),
// and the guard calls Admission.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "service/access/grpc_security.h"
#include "service/access/tokens.h"

namespace millrace::service {

/// The facts about a call before the server serves it.
struct CallFacts {
  /// "millrace.v1.StreamService/GetStream".
  std::string_view method;
  /// As gRPC writes it: "ipv4:127.0.0.1:40312", "ipv6:%5B::1%5D:40312".
  std::string peer;
  /// The values of the call's metadata `authorization`.
  std::vector<std::string_view> authorization;
};

/// Whether `method` changes nothing. False for an unknown method.
[[nodiscard]] bool OnlyViews(std::string_view method);

/// Checks tokens, roles and addresses of callers. Thread-safe.
class Admission {
 public:
  /// Fails as TokenFile::Open() does.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Admission>> Make(
      const GrpcSecurity& security);

  /// OK if the call may be served. UNAUTHENTICATED if the server has tokens and the call has no
  /// valid one. PERMISSION_DENIED if the method needs another role or refuses this address. The
  /// message says what to do and repeats no secret. The log warns of a wrong token.
  [[nodiscard]] absl::Status Admit(const CallFacts& call) const;

 private:
  Admission(ControlFrom control, std::unique_ptr<TokenFile> tokens);

  /// The role of the client. UNAUTHENTICATED without a valid token, if the server has tokens.
  [[nodiscard]] absl::StatusOr<Role> RoleOf(const CallFacts& call) const;

  // Constant after construction; the tokens are self-synchronized.
  const ControlFrom control_;
  const std::unique_ptr<TokenFile> tokens_;  // Null: every client has the role kControl.
};

}  // namespace millrace::service
