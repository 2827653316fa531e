#include "pipeline/nn/operator_hook.h"

#include <torch/library.h>

namespace millrace::pipeline {
// What has no kernel of ours goes on as if the key were not there. Registered before main(), as all
// kernels with this key are: the table of kernels is read without a lock.
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
