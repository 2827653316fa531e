// Lets a stage change what a few of LibTorch's operators do, on its own thread, while it goes
// forward.
//
// A user's network calls operators, not us: the random numbers of a dropout and the running
// averages of a batch normalization are theirs to draw and to move. LibTorch finds an operator's
// kernel by keys, and one of them is for programs outside of LibTorch to use as they need:
// AutocastPrivateUse1, which comes before differentiation. Kernels of ours are registered with it;
// operators that have none there pass it by at no cost.
#pragma once

#include <c10/core/DispatchKey.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace millrace::pipeline {

/// Kernels are registered with it by TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, ...).
inline constexpr c10::DispatchKey kHookKey = c10::DispatchKey::AutocastPrivateUse1;

/// Operators of the calling thread meet the kernels that are registered with kHookKey while it
/// lives. May be nested.
class HookedOperators {
 public:
  HookedOperators();

  HookedOperators(const HookedOperators&) = delete;
  HookedOperators& operator=(const HookedOperators&) = delete;

 private:
  // LibTorch excludes keys of automatic casts until somebody asks for them.
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
