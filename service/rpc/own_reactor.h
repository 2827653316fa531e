// What lives as long as a call.
#pragma once

namespace millrace::service {

/// A reactor of gRPC's that ends itself when its call is over. gRPC holds it until then: make it
/// with `new`, and return it from the method.
template <typename Reactor>
class OwnReactor : public Reactor {
 public:
  OwnReactor(const OwnReactor&) = delete;
  OwnReactor& operator=(const OwnReactor&) = delete;

 protected:
  OwnReactor() = default;
  ~OwnReactor() override = default;

 private:
  void OnDone() final { delete this; }
};

}  // namespace millrace::service
