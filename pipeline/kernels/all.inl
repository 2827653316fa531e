// All loops, for the kLanes, kSums and kMostVectors that the including file says: kKernels.

#include "pipeline/kernels/lanes.inl"
// After what it needs.
#include "pipeline/kernels/convolution.inl"
#include "pipeline/kernels/match.inl"
#include "pipeline/kernels/optimizer.inl"

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
