#include "pipeline/plan/plan_checker.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/simulator.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;
using Which = WeightsRead::Which;

template <typename... Parts>
absl::Status Wrong(const Plan& plan, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("plan \"", plan.schedule, "\": ", parts...));
}

// Like Wrong(), and shows the pattern with `operation` marked.
template <typename... Parts>
absl::Status WrongAt(const Plan& plan, const Operation& operation, const Parts&... parts) {
  const std::string name = ToString(StepOf(plan, operation, operation.shift));
  return Wrong(plan, name, " ", parts..., "\n", PatternText(plan, &operation));
}

absl::Status CheckChannels(const Plan& plan) {
  for (const Channel& channel : plan.channels) {
    if (channel.from < 0 || channel.from >= channel.to || channel.to > plan.stage_count()) {
      return Wrong(plan, "a channel goes from stage ", channel.from, " to ", channel.to,
                   "; it must go from an earlier stage (0 is the camera) to one of 1 to ",
                   plan.stage_count());
    }
    if (channel.slots < 1 || channel.gradient_slots < 1) {
      return Wrong(plan, "the channel from stage ", channel.from, " to ", channel.to,
                   " needs at least one slot");
    }
  }
  for (int stage = 0; stage < plan.stage_count(); ++stage) {
    const bool joined =
        std::any_of(plan.channels.begin(), plan.channels.end(),
                    [stage](const Channel& c) { return c.from == stage && c.to == stage + 1; });
    if (!joined) return Wrong(plan, "no channel joins stage ", stage, " and stage ", stage + 1);
  }
  return absl::OkStatus();
}

// The stages of earlier ranks, then those of this rank, then those of later ranks.
absl::Status CheckRanksInOrder(const Plan& plan) {
  const auto place = [](const StageRules& rules) {
    return rules.rank == StageRank::kEarlier ? 0 : rules.rank == StageRank::kOwn ? 1 : 2;
  };
  const bool any = std::ranges::any_of(plan.stages, [&](auto& rules) { return place(rules) == 1; });
  if (any && std::ranges::is_sorted(plan.stages, {}, place)) return absl::OkStatus();
  return Wrong(plan, "stages of this rank must be neighbours, and at least one");
}

absl::Status CheckRules(const Plan& plan) {
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    const StageRules& rules = plan.rules(stage);
    if (rules.lead < 0) return Wrong(plan, "stage ", stage, " has a negative lead");
    if (rules.slots < 1) return Wrong(plan, "stage ", stage, " needs at least one slot");
    if (rules.versions < 1) {
      return Wrong(plan, "stage ", stage, " needs at least one version of its weights");
    }
  }
  return absl::OkStatus();
}

bool ReadsWeights(OperationKind kind) { return kind == kForward || kind == kBackward; }

absl::Status CheckOperation(const Plan& plan, const Operation& operation) {
  if (operation.stage < 1 || operation.stage > plan.stage_count()) {
    return Wrong(plan, "an operation names stage ", operation.stage, " of ", plan.stage_count());
  }
  if (operation.first < 0 || operation.count < 1 || operation.shift < 0 ||
      operation.first + operation.count > plan.samples_per_pattern) {
    return WrongAt(plan, operation, "covers samples outside its pattern of ",
                   plan.samples_per_pattern);
  }
  if (operation.weights.lag < 0) return WrongAt(plan, operation, "has a negative lag");
  if (operation.weights.which == Which::kForward && operation.kind != kBackward) {
    return WrongAt(plan, operation, "is no backward: it cannot read the weights of a forward");
  }
  if (operation.weights != WeightsRead{} && !ReadsWeights(operation.kind)) {
    return WrongAt(plan, operation, "reads no weights: it cannot name their version");
  }
  return absl::OkStatus();
}

// One stage's operations of one kind in their order, with their devices and places.
struct Order {
  struct Entry {
    int shift;
    std::size_t place;
    std::size_t device;
    const Operation* operation;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> entries;
};

using OrdersOfStage = std::array<Order, kOperationKinds>;

std::vector<OrdersOfStage> OrdersOf(const Plan& plan) {
  std::vector<OrdersOfStage> orders(plan.stage_count());
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    for (std::size_t place = 0; place < plan.devices[device].size(); ++place) {
      const Operation& operation = plan.devices[device][place];
      orders[operation.stage - 1][static_cast<int>(operation.kind)].entries.push_back(
          {operation.shift, place, device, &operation});
    }
  }
  for (OrdersOfStage& of_stage : orders) {
    for (Order& order : of_stage) std::sort(order.entries.begin(), order.entries.end());
  }
  return orders;
}

absl::Status CheckEverySampleOnce(const Plan& plan, int stage, OperationKind kind,
                                  const Order& order) {
  std::vector<const Operation*> covered(plan.samples_per_pattern, nullptr);
  for (const Order::Entry& entry : order.entries) {
    for (int i = 0; i < entry.operation->count; ++i) {
      const Operation*& by = covered[entry.operation->first + i];
      if (by != nullptr) {
        return WrongAt(plan, *entry.operation, "does the ", std::string(Name(kind)), " of sample ",
                       entry.operation->first + i, " a second time");
      }
      by = entry.operation;
    }
  }
  const auto missing = std::find(covered.begin(), covered.end(), nullptr);
  if (missing == covered.end()) return absl::OkStatus();
  return Wrong(plan, "stage ", stage, " lacks the ", std::string(Name(kind)), " of sample ",
               missing - covered.begin(), " of its pattern\n", PatternText(plan));
}

absl::Status CheckKind(const Plan& plan, int stage, OperationKind kind, const Order& order) {
  if (kind != kWeightGradient || plan.rules(stage).splits_backward) {
    return CheckEverySampleOnce(plan, stage, kind, order);
  }
  if (order.entries.empty()) return absl::OkStatus();
  return WrongAt(plan, *order.entries.front().operation,
                 "is of a stage whose backwards compute the gradients of the weights");
}

// A stage must finish a kind's operations of one pattern before those of the next.
absl::Status CheckPatternsInOrder(const Plan& plan, const Order& order) {
  if (order.entries.empty()) return absl::OkStatus();
  const Order::Entry& first = order.entries.front();
  const Order::Entry& last = order.entries.back();
  const bool in_order = std::pair(last.shift, last.place) < std::pair(first.shift + 1, first.place);
  if (in_order || order.entries.size() == 1) return absl::OkStatus();
  return WrongAt(plan, *last.operation, "comes after ",
                 ToString(StepOf(plan, *first.operation, first.shift + 1)),
                 ", which is of the pattern after it");
}

// A stage elsewhere carries forwards and gradients on two devices, and holds no weights here.
absl::Status CheckDevices(const Plan& plan, int stage, const OrdersOfStage& orders) {
  for (const Order& order : orders) {
    for (const Order::Entry& entry : order.entries) {
      if (entry.device == order.entries.front().device) continue;
      return WrongAt(plan, *entry.operation, "is on device ", entry.device,
                     ", and others of stage ", stage, " of its kind on device ",
                     order.entries.front().device, ": each kind of a stage has one device");
    }
  }
  const auto device = [&](OperationKind kind) {
    return orders[static_cast<int>(kind)].entries.front().device;
  };
  for (const OperationKind kind : {plan.LastOfBackward(stage), kUpdate}) {
    if (device(kind) == device(kBackward)) continue;
    return Wrong(plan, "stage ", stage, " goes backward on device ", device(kBackward),
                 " and has its ", std::string(Name(kind)), "s on device ", device(kind),
                 "; gradients stay on one");
  }
  if (device(kForward) == device(kUpdate) || !plan.IsOwn(stage)) return absl::OkStatus();
  if (plan.rules(stage).versions > 1) {
    return Wrong(
        plan, "stage ", stage, " holds ", plan.rules(stage).versions,
        " versions of its weights, but goes forward and backward on two devices: they would "
        "switch versions under each other");
  }
  for (const Order::Entry& entry : orders[0].entries) {
    if (entry.operation->weights.which == Which::kLag) continue;
    return WrongAt(plan, *entry.operation,
                   "is on another device than its stage's updates. Its lag must name the "
                   "version of the weights that it reads, or a race would decide");
  }
  return absl::OkStatus();
}

absl::Status CheckLags(const Plan& plan, const OrdersOfStage& orders) {
  const std::size_t updates = orders[static_cast<int>(kUpdate)].entries.size();
  for (const Order& order : orders) {
    for (const Order::Entry& entry : order.entries) {
      if (entry.operation->weights.which != Which::kLag || updates == 1) continue;
      return WrongAt(plan, *entry.operation, "lags by patterns, but its stage updates ", updates,
                     " times a pattern; it must do so once");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOrders(const Plan& plan) {
  for (const auto& order : plan.devices) {
    for (const Operation& operation : order) {
      MILLRACE_RETURN_IF_ERROR(CheckOperation(plan, operation));
    }
  }
  const std::vector<OrdersOfStage> orders = OrdersOf(plan);
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    const OrdersOfStage& of_stage = orders[stage - 1];
    for (int kind = 0; kind < kOperationKinds; ++kind) {
      MILLRACE_RETURN_IF_ERROR(
          CheckKind(plan, stage, static_cast<OperationKind>(kind), of_stage[kind]));
      MILLRACE_RETURN_IF_ERROR(CheckPatternsInOrder(plan, of_stage[kind]));
    }
    MILLRACE_RETURN_IF_ERROR(CheckDevices(plan, stage, of_stage));
    MILLRACE_RETURN_IF_ERROR(CheckLags(plan, of_stage));
  }
  return absl::OkStatus();
}

// Between a backward and its weight gradient, a stage only goes forward. So an update applies the
// gradients of whole samples, also where a layer's weights get theirs in the backward. And one
// backward at a time has a gradient of its stage's output that is still to be read.
absl::Status CheckSplitBackwards(const Plan& plan, const std::vector<const Operation*>& learning) {
  for (std::size_t i = 0; i < learning.size(); ++i) {
    if (learning[i]->kind != kBackward) continue;
    Operation expected = *learning[i];
    expected.kind = kWeightGradient;
    expected.keeps = Keeps::kActivations;
    expected.weights = {};
    expected.shift += i + 1 == learning.size() ? 1 : 0;
    if (*learning[(i + 1) % learning.size()] == expected) continue;
    return WrongAt(plan, *learning[i],
                   "is not followed by its weight gradient: before that, the stage may only go "
                   "forward");
  }
  return absl::OkStatus();
}

absl::Status CheckSplitBackwards(const Plan& plan, int stage) {
  if (!plan.rules(stage).splits_backward) return absl::OkStatus();
  for (const auto& order : plan.devices) {
    std::vector<const Operation*> learning;
    for (const Operation& operation : order) {
      if (operation.stage == stage && operation.kind != kForward) learning.push_back(&operation);
    }
    MILLRACE_RETURN_IF_ERROR(CheckSplitBackwards(plan, learning));
  }
  return absl::OkStatus();
}

// One stage writes a ring in its order; the other stage must read it in the same order.
absl::Status CheckChannelOrders(const Plan& plan) {
  const Dependencies dependencies(plan);
  for (const Channel& channel : plan.channels) {
    for (int sample = 0; sample < plan.samples_per_pattern; ++sample) {
      const auto differ = [&](OperationKind kind) {
        return dependencies.Position(kind, channel.from, sample) !=
               dependencies.Position(kind, channel.to, sample);
      };
      if (differ(kForward) || (plan.CarriesGradients(channel) && differ(kBackward))) {
        return Wrong(plan, "stages ", channel.from, " and ", channel.to,
                     ", which a channel joins, go through the samples in different orders\n",
                     PatternText(plan));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNoStandstill(const Plan& plan) {
  const std::vector<StageCost> costs(
      plan.stage_count(), {.forward = 1, .backward = 2, .update = 1, .weight_gradient = 1});
  const int samples = plan.samples_per_pattern * (4 * (MaxShift(plan) + 2));
  const absl::StatusOr<Timeline> timeline =
      Simulate(plan, {.costs = costs, .arrivals = std::vector<double>(samples, 0.0)});
  if (timeline.ok()) return absl::OkStatus();
  return Wrong(plan, std::string(timeline.status().message()));
}

absl::Status CheckRoom(const Plan& plan, int stage, const StageFigures& figures) {
  const StageRules& rules = plan.rules(stage);
  if (rules.slots < figures.ring) {
    return Wrong(plan, "stage ", stage, " has ", rules.slots, " slots for activations and needs ",
                 figures.ring, ", or a live one is overwritten\n", PatternText(plan));
  }
  if (rules.versions < figures.versions) {
    return Wrong(plan, "stage ", stage, " holds ", rules.versions,
                 " versions of its weights and needs ", figures.versions,
                 ", or one that is still to be read is overwritten\n", PatternText(plan));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<StageFigures>> CheckPlan(const Plan& plan) {
  if (plan.stages.empty()) return Wrong(plan, "there are no stages");
  if (plan.samples_per_pattern < 1) return Wrong(plan, "a pattern has at least one sample");
  MILLRACE_RETURN_IF_ERROR(CheckChannels(plan));
  MILLRACE_RETURN_IF_ERROR(CheckRules(plan));
  MILLRACE_RETURN_IF_ERROR(CheckRanksInOrder(plan));
  MILLRACE_RETURN_IF_ERROR(CheckOrders(plan));
  MILLRACE_RETURN_IF_ERROR(CheckChannelOrders(plan));
  std::vector<StageFigures> figures;
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    MILLRACE_RETURN_IF_ERROR(CheckSplitBackwards(plan, stage));
    if (!plan.IsOwn(stage)) {
      figures.emplace_back();
      continue;
    }
    figures.push_back(WalkStage(plan, stage));
    MILLRACE_RETURN_IF_ERROR(CheckRoom(plan, stage, figures.back()));
  }
  MILLRACE_RETURN_IF_ERROR(CheckNoStandstill(plan));
  return figures;
}

}  // namespace millrace::pipeline
