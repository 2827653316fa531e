// Calls that end at once.
#pragma once

#include "absl/status/status.h"
#include "service/rpc/own_reactor.h"
#include "service/rpc/status.h"

namespace millrace::service {

/// Ends a call that a `Reactor` would have served, with `status` for its outcome.
template <typename Reactor>
class RefusedCall final : public OwnReactor<Reactor> {
 public:
  /// REQUIRES: `status` is an error.
  explicit RefusedCall(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }
};

}  // namespace millrace::service
