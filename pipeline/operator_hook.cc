#include "pipeline/operator_hook.h"

#include <torch/library.h>

namespace millrace::pipeline {
namespace {

// What has no kernel of ours goes on as if the key were not there.
void PassOtherOperatorsBy() {
  static torch::Library library(torch::Library::IMPL, "_", kHookKey, __FILE__, __LINE__);
  static const bool passed_by = [] {
    library.fallback(torch::CppFunction::makeFallthrough());
    return true;
  }();
  static_cast<void>(passed_by);
}

}  // namespace

HookedOperators::HookedOperators() { PassOtherOperatorsBy(); }

HookedOperators::Admitted::Admitted()
    : excluded_before_(c10::impl::tls_is_dispatch_key_excluded(kHookKey)) {
  c10::impl::tls_set_dispatch_key_excluded(kHookKey, false);
}

HookedOperators::Admitted::~Admitted() {
  c10::impl::tls_set_dispatch_key_excluded(kHookKey, excluded_before_);
}

}  // namespace millrace::pipeline
