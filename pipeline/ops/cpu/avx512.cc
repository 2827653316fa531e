// The loops for processors with AVX512.
#include "pipeline/ops/cpu/kernels.h"

namespace millrace::pipeline::kernels {
namespace {

constexpr int kLanes = 16;
constexpr int kSums = 24;
constexpr int kMaxVectors = 4;

#include "pipeline/ops/cpu/all.inl"

}  // namespace

const Kernels& Avx512() { return kKernels; }

}  // namespace millrace::pipeline::kernels
