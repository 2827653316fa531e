// Reactors that delete themselves at the end of their call.
#pragma once

#include "absl/status/status.h"
#include "service/rpc/status.h"

namespace millrace::service {

/// A gRPC reactor that deletes itself when its call ends. gRPC holds it until then. Create it with
/// `new` and return it from the method.
template <typename Reactor>
class SelfDeletingReactor : public Reactor {
 public:
  SelfDeletingReactor(const SelfDeletingReactor&) = delete;
  SelfDeletingReactor& operator=(const SelfDeletingReactor&) = delete;

 protected:
  SelfDeletingReactor() = default;

 private:
  void OnDone() final { delete this; }
};

/// Takes the place of a `Reactor` and ends the call with `status`.
template <typename Reactor>
class RefusedCall final : public SelfDeletingReactor<Reactor> {
 public:
  /// REQUIRES: `status` is an error.
  explicit RefusedCall(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }
};

}  // namespace millrace::service
