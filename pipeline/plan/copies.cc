#include "pipeline/plan/copies.h"

#include <algorithm>
#include <map>
#include <utility>

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// The device of each stage's operations of `kind`, from stage 0. Stage 0 is the camera, without
// operations.
std::vector<std::size_t> DevicesOf(const Plan& plan, OperationKind kind) {
  std::vector<std::size_t> devices(plan.stage_count() + 1);
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    for (const Operation& operation : plan.devices[device]) {
      if (operation.kind == kind) devices.at(operation.stage) = device;
    }
  }
  return devices;
}

}  // namespace

DeviceCopies::DeviceCopies(const Plan& plan, std::span<const StageCost> costs) {
  for (auto& by_stage : of_) by_stage.resize(plan.stage_count() + 1);
  const std::vector<std::size_t> forwards = DevicesOf(plan, kForward);
  const std::vector<std::size_t> backwards = DevicesOf(plan, kBackward);
  for (const Channel& channel : plan.channels) {
    if (channel.from == 0) continue;
    const double cost = costs[channel.from - 1].copy;
    Add({.kind = kForward,
         .stage = channel.from,
         .reader = channel.to,
         .from = forwards[channel.from],
         .to = forwards[channel.to],
         .cost = cost});
    if (!plan.CarriesGradients(channel)) continue;
    Add({.kind = kBackward,
         .stage = channel.to,
         .reader = channel.from,
         .from = backwards[channel.to],
         .to = backwards[channel.from],
         .cost = cost});
  }
}

void DeviceCopies::Add(const DeviceCopy& copy) {
  if (copy.from == copy.to || copy.cost <= 0) return;
  of_[static_cast<int>(copy.kind)][copy.stage].push_back(all_.size());
  all_.push_back(copy);
  const auto alike = std::ranges::find_if(all_, [&](const DeviceCopy& other) {
    return other.from == copy.from && other.to == copy.to;
  });
  const bool is_new = alike + 1 == all_.end();
  if (is_new) loads_.push_back(0);
  all_.back().link = is_new ? loads_.size() - 1 : alike->link;
  loads_[all_.back().link] += copy.cost;
}

const std::size_t* DeviceCopies::Find(OperationKind kind, int stage, const Step& reader) const {
  const bool forward = kind == kForward && stage < reader.stage;
  const bool backward = kind == kBackward && stage > reader.stage;
  if (kind != reader.kind || !(forward || backward)) return nullptr;
  for (const std::size_t& place : of(kind, stage)) {
    if (all_[place].reader == reader.stage) return &place;
  }
  return nullptr;
}

double MaxLinkLoad(std::span<const StageCost> costs, std::span<const int> device_of) {
  std::map<std::pair<int, int>, double> loads;
  double max = 0;
  for (std::size_t i = 0; i + 1 < device_of.size(); ++i) {
    const int from = device_of[i];
    const int to = device_of[i + 1];
    if (from == to) continue;
    for (const std::pair<int, int>& link : {std::pair(from, to), std::pair(to, from)}) {
      max = std::max(max, loads[link] += costs[i].copy);
    }
  }
  return max;
}

}  // namespace millrace::pipeline
