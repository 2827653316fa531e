#include "pipeline/ops/cpu/kernels.h"

namespace millrace::pipeline::kernels {

const Kernels& Best() {
#if defined(__x86_64__)
  static const Kernels& best = [&]() -> const Kernels& {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
      return Avx512();
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Avx2() : Plain();
  }();
  return best;
#else
  return Plain();
#endif
}

}  // namespace millrace::pipeline::kernels
