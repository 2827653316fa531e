// The block partition of Barany and Grinberg ("Block partitions of sequences", arXiv 1308.2452), by
// which torchgpipe and PARTIME balance their stages. We keep it for comparison only. Any two blocks
// differ by at most the largest element, which does not give the least maximum.
#pragma once

#include <vector>

#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {

/// Starts from equal counts of layers. In each step, the smallest block takes one layer from its
/// neighbour on the side of the largest block. Stops when the largest is at most 1 more than the
/// smallest, in costs scaled to lie between 0 and 1, as torchgpipe does. Blocks may be empty: cuts
/// rise, but not strictly. REQUIRES: 1 <= stages <= layers.
[[nodiscard]] Cuts BlockPartition(const std::vector<StageCost>& layers, int stages);

/// The largest total cost of a block.
[[nodiscard]] double LargestBlock(const std::vector<StageCost>& layers, const Cuts& cuts);

}  // namespace millrace::pipeline
