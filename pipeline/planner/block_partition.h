// The block partition of Barany and Grinberg ("Block partitions of sequences", arXiv 1308.2452), by
// which torchgpipe and PARTIME balance their stages. Here only to be compared with: it keeps every
// two blocks within the largest element of each other, which is not the least maximum.
#pragma once

#include <vector>

#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {

/// Starts from equal counts of layers and moves one layer at a time towards the smallest block,
/// from its neighbour on the side of the largest, until the largest is at most 1 more than the
/// smallest, in costs scaled to lie between 0 and 1 as torchgpipe does. Blocks may come out empty:
/// cuts rise, but not strictly. REQUIRES: 1 <= stages <= layers.
[[nodiscard]] Cuts BlockPartition(const std::vector<StageCost>& layers, int stages);

/// The largest total cost of a block.
[[nodiscard]] double LargestBlock(const std::vector<StageCost>& layers, const Cuts& cuts);

}  // namespace millrace::pipeline
