// The loops for processors with no vectors longer than those that all have.
#include "pipeline/kernels/kernels.h"

namespace millrace::pipeline::kernels {
namespace {

constexpr int kLanes = 4;
constexpr int kSums = 8;
constexpr int kMostVectors = 2;

#include "pipeline/kernels/all.inl"

}  // namespace

const Kernels& Plain() { return kKernels; }

}  // namespace millrace::pipeline::kernels
