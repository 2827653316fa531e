// The loops for processors with AVX512.
#include "pipeline/kernels/kernels.h"

namespace millrace::pipeline::kernels {
namespace {

constexpr int kLanes = 16;
constexpr int kSums = 24;
constexpr int kMostVectors = 4;

#include "pipeline/kernels/lanes.inl"
// After what it needs.
#include "pipeline/kernels/convolution.inl"
#include "pipeline/kernels/match.inl"
#include "pipeline/kernels/optimizer.inl"

}  // namespace

const Kernels& Avx512() {
  static constexpr Kernels kKernels = {.gather = Gather,
                                       .weigh = Weigh,
                                       .mask = Mask,
                                       .rmsprop = RmsProp<float>,
                                       .rmsprop_double = RmsProp<double>,
                                       .normalize = Normalize,
                                       .normalize_back = NormalizeBack,
                                       .warp = Warp,
                                       .warp_back = WarpBack,
                                       .compare = Compare,
                                       .spread = Spread,
                                       .all_finite = AllFinite};
  return kKernels;
}

}  // namespace millrace::pipeline::kernels
