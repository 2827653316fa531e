// All loops, for the kLanes, kSums and kMostVectors that the including file says: kKernels.

#include "pipeline/ops/cpu/lanes.inl"
// After what it needs.
#include "pipeline/ops/cpu/convolution.inl"
#include "pipeline/ops/cpu/match.inl"
#include "pipeline/ops/cpu/optimizer.inl"

constexpr Kernels kKernels = {.gather = Gather,
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
                              .all_below = AllBelow};
