// A call that ends at once with an error.
#pragma once

#include "absl/status/status.h"
#include "service/rpc/own_reactor.h"
#include "service/rpc/status.h"

namespace millrace::service {

/// Takes the place of a `Reactor` and ends the call with `status`.
template <typename Reactor>
class RefusedCall final : public OwnReactor<Reactor> {
 public:
  /// REQUIRES: `status` is an error.
  explicit RefusedCall(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }
};

}  // namespace millrace::service
