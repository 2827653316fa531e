// What schedules have in common: channels, one device a stage, orders by time slots.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

/// The channels of a pipeline: two slots for every cut that one crosses, a portal for each skip,
/// and one that carries the sample to the last stage's loss.
[[nodiscard]] std::vector<Channel> ChannelsOf(const PipelineShape& shape);

/// When a stage of a 1-periodic plan runs, in patterns behind the newest, and what it keeps.
struct StageTiming {
  int forward_shift = 0;
  int backward_shift = 0;
  StageRules rules = {};
  Keeps keeps = Keeps::kActivations;
  WeightsRead backward_weights = {};
};

/// A plan in which each stage has a device of its own and does F, B, U in every period.
[[nodiscard]] Plan OneDeviceAStage(std::string schedule, const PipelineShape& shape,
                                   const std::vector<StageTiming>& timings);

/// An operation and the time slot in which a stage does it in pattern 0. Slots may be negative.
struct Slotted {
  int slot = 0;
  Operation operation;
};

/// The order of a device whose pattern repeats every `slots` time slots: each operation's place is
/// that of its slot in the pattern, and its shift the number of patterns before. Operations of one
/// slot stay in the order given.
[[nodiscard]] std::vector<Operation> OrderBySlots(std::vector<Slotted> operations, int slots);

/// Gives every stage as many slots and versions as its order needs.
void SizeStages(Plan& plan);

/// INVALID_ARGUMENT naming `schedule` and the option unless `least` <= `value` <= `most`.
[[nodiscard]] absl::Status CheckOption(std::string_view schedule, std::string_view option,
                                       int value, int least, int most);

}  // namespace millrace::pipeline
