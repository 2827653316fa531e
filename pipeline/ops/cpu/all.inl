// All loops, collected as kKernels. The including file defines kLanes, kSums and kMaxVectors.

#include "pipeline/ops/cpu/lanes.inl"
// After the headers and names that these use.
#include "pipeline/ops/cpu/blend.inl"
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
                              .blend = Blend,
                              .blend_back = BlendBack,
                              .all_below = AllBelow};
