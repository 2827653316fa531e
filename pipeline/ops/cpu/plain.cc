// The loops for processors without vectors longer than the baseline's.
#include "pipeline/ops/cpu/kernels.h"

namespace millrace::pipeline::kernels {
namespace {

constexpr int kLanes = 4;
constexpr int kSums = 8;
constexpr int kMaxVectors = 2;

#include "pipeline/ops/cpu/all.inl"

}  // namespace

const Kernels& Plain() { return kKernels; }

}  // namespace millrace::pipeline::kernels
