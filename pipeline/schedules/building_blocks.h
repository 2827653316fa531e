// The parts that schedules share: channels, one device for each stage, orders by time slots.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

/// The channels of a pipeline. A channel has two slots for every cut that it crosses. Each skip has
/// a portal. One channel carries the sample to the last stage's loss.
[[nodiscard]] std::vector<Channel> ChannelsOf(const PipelineShape& shape);

/// The shifts of a stage in a 1-periodic plan, in patterns behind the newest one, and its rules.
struct StageTiming {
  int forward_shift = 0;
  int backward_shift = 0;
  StageRules rules = {};
  Keeps keeps = Keeps::kActivations;
  WeightsRead backward_weights = {};
  /// If the rules split the backward: the shift of the weight gradient and the update. If it is
  /// greater than that of the backward, they come before the backward of a later sample.
  int weight_gradient_shift = 0;
};

/// A plan in which each stage has its own device. In every period it runs F, B, U. With a split
/// backward it runs F, B, W, U, or F, W, U, B.
[[nodiscard]] Plan OneDeviceAStage(std::string schedule, const PipelineShape& shape,
                                   const std::vector<StageTiming>& timings);

/// An operation and its time slot in pattern 0. Slots may be negative.
struct Slotted {
  int slot = 0;
  Operation operation;
};

/// The order of a device whose pattern repeats every `slots` time slots. An operation's place is
/// its slot modulo `slots`; its shift is the number of patterns before. Operations of one slot keep
/// the given order.
[[nodiscard]] std::vector<Operation> OrderBySlots(std::vector<Slotted> operations, int slots);

/// Splits every backward: its weight gradient comes right behind it.
void SplitBackwards(Plan& plan);

/// Gives every stage the number of slots and versions that its order needs.
void SizeStages(Plan& plan);

/// Fails with INVALID_ARGUMENT, naming `schedule` and the option, unless `min` <= `value` <=
/// `max`.
[[nodiscard]] absl::Status CheckOption(std::string_view schedule, std::string_view option,
                                       int value, int min, int max);

}  // namespace millrace::pipeline
