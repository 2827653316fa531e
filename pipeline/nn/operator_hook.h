// Lets a stage replace a few of LibTorch's operators, on its own thread, during a forward.
//
// A user's network calls LibTorch's operators directly: a dropout draws its own random numbers, and
// a batch normalization updates its own running averages. LibTorch finds an operator's kernel by
// dispatch keys. One key, AutocastPrivateUse1, is reserved for other programs and comes before
// autograd. Our kernels are registered with it. Operators without such a kernel skip the key at no
// cost.
#pragma once

#include <c10/core/DispatchKey.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace millrace::pipeline {

/// Register a kernel with it by TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, ...).
inline constexpr c10::DispatchKey kHookKey = c10::DispatchKey::AutocastPrivateUse1;

/// During its lifetime, the calling thread's operators use the kernels that are registered with
/// kHookKey. May be nested.
class HookedOperators {
 public:
  HookedOperators();

  HookedOperators(const HookedOperators&) = delete;
  HookedOperators& operator=(const HookedOperators&) = delete;

 private:
  // LibTorch excludes autocast keys by default.
  class Admitted {
   public:
    Admitted();
    ~Admitted();

   private:
    const bool excluded_before_;
  };
  const Admitted admitted_;
  const c10::impl::IncludeDispatchKeyGuard included_{kHookKey};
};

}  // namespace millrace::pipeline
