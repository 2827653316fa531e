// The loops for processors with AVX2.
#include "pipeline/ops/cpu/kernels.h"

namespace millrace::pipeline::kernels {
namespace {

constexpr int kLanes = 8;
constexpr int kSums = 12;
constexpr int kMaxVectors = 2;

#include "pipeline/ops/cpu/all.inl"

}  // namespace

const Kernels& Avx2() { return kKernels; }

}  // namespace millrace::pipeline::kernels
