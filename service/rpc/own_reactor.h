// Reactors that delete themselves at the end of their call.
#pragma once

namespace millrace::service {

/// A gRPC reactor that deletes itself when its call ends. gRPC holds it until then. Create it with
/// `new` and return it from the method.
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
