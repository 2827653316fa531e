#include "pipeline/nn/operator_hook.h"

#include <torch/library.h>

namespace millrace::pipeline {
// Operators without a kernel of ours skip the key. All kernels with this key are registered before
// main(), because LibTorch reads the table of kernels without a lock.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

HookedOperators::HookedOperators() = default;

HookedOperators::Admitted::Admitted()
    : excluded_before_(c10::impl::tls_is_dispatch_key_excluded(kHookKey)) {
  c10::impl::tls_set_dispatch_key_excluded(kHookKey, false);
}

HookedOperators::Admitted::~Admitted() {
  c10::impl::tls_set_dispatch_key_excluded(kHookKey, excluded_before_);
}

}  // namespace millrace::pipeline
