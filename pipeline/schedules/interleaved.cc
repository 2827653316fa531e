// A device may own several stages, neighbours or not (Beaumont et al., section 6.1). Costs 1, 2, 1
// on two devices have period 2 with stages 1 and 3 together. Contiguous cuts have period 3.
//
// Modulo scheduling: places the operations of one sample one by one, from F1 to FD and back. Each
// gets the earliest time after its inputs at which its device is free in every period T. The time
// modulo T is its place in the device's order; the number of periods T before that is its shift. If
// an operation does not fit, T grows a little.
//
//   costs 1, 2, 1, forward a third of each, T = 2
//     device 0   F1 B1 U1 F3 B3 U3        (stages 1 and 3)
//     device 1   F2 B2 U2                 (stage 2)
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/plan/copies.h"
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

using enum OperationKind;

namespace {

constexpr double kGrowth = 1.02;

struct Placed {
  double start;
  double cost;
  Operation operation;
};

// The time of one device, modulo T.
class ModuloDevice {
 public:
  explicit ModuloDevice(double period) : period_(period), slack_(period * 1e-9) {}

  /// The first start at `ready` or later at which `cost` is free in every period; nullopt if there
  /// is no such start.
  std::optional<double> Place(double ready, double cost, const Operation& operation) {
    std::vector<double> starts = {ready};
    for (const Placed& other : placed_) {
      const double end = std::fmod(other.start + other.cost, period_);
      const double periods = std::ceil((ready - end - slack_) / period_);
      starts.push_back(std::max(ready, end + periods * period_));
    }
    std::sort(starts.begin(), starts.end());
    for (double start : starts) {
      if (!Free(start, cost)) continue;
      placed_.push_back({start, cost, operation});
      return start;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<Operation> Order() const {
    std::vector<Placed> by_place = placed_;
    std::stable_sort(by_place.begin(), by_place.end(), [this](const Placed& a, const Placed& b) {
      return Remainder(a.start) < Remainder(b.start) - slack_;
    });
    std::vector<Operation> order;
    for (const Placed& placed : by_place) {
      order.push_back(placed.operation);
      order.back().shift =
          static_cast<int>(std::lround((placed.start - Remainder(placed.start)) / period_));
      if (placed.operation.kind != kBackward) continue;
      order.push_back(order.back());
      order.back().kind = kUpdate;
    }
    return order;
  }

 private:
  // In [0, T). A remainder close to T counts as 0.
  [[nodiscard]] double Remainder(double time) const {
    const double remainder = std::fmod(time, period_);
    return remainder > period_ - slack_ ? remainder - period_ : remainder;
  }

  [[nodiscard]] bool Free(double start, double cost) const {
    if (cost > period_ + slack_) return false;
    return std::all_of(placed_.begin(), placed_.end(), [&](const Placed& other) {
      if (other.cost <= slack_ || cost <= slack_) return true;
      // The distance from the other operation's start to this start. This end must precede the
      // other's next start.
      double after = std::fmod(start - other.start, period_);
      if (after < -slack_) after += period_;
      return after >= other.cost - slack_ && after + cost <= period_ + slack_;
    });
  }

  const double period_;
  const double slack_;
  std::vector<Placed> placed_;
};

// Returns nullopt if an operation does not fit into `period`.
std::optional<std::vector<std::vector<Operation>>> Orders(const ScheduleRequest& request,
                                                          const std::vector<int>& device_of,
                                                          double period) {
  const int stages = request.shape.stages;
  const int devices = 1 + *std::max_element(device_of.begin(), device_of.end());
  std::vector<ModuloDevice> timetables(devices, ModuloDevice(period));
  double ready = 0;
  const auto place = [&](OperationKind kind, int stage, double cost) {
    const std::optional<double> start =
        timetables[device_of[stage - 1]].Place(ready, cost, {.kind = kind, .stage = stage});
    if (start) ready = *start + cost;
    return start.has_value();
  };
  for (int stage = 1; stage <= stages; ++stage) {
    const StageCost& cost = request.costs[stage - 1];
    if (!place(kForward, stage, cost.forward)) return std::nullopt;
    if (stage < stages) ready += cost.copy;
  }
  for (int stage = stages; stage >= 1; --stage) {
    const StageCost& cost = request.costs[stage - 1];
    // The update follows directly, while the gradient is copied.
    if (!place(kBackward, stage, cost.backward + cost.update)) return std::nullopt;
    ready += (stage > 1 ? request.costs[stage - 2].copy : 0) - cost.update;
  }
  std::vector<std::vector<Operation>> orders;
  orders.reserve(timetables.size());
  for (const ModuloDevice& timetable : timetables) orders.push_back(timetable.Order());
  return orders;
}

// The orders of the first period, `period` or longer, into which all operations fit.
std::vector<std::vector<Operation>> OrdersFrom(const ScheduleRequest& request,
                                               const std::vector<int>& device_of, double period) {
  for (;; period *= kGrowth) {
    if (auto orders = Orders(request, device_of, period)) return *std::move(orders);
  }
}

std::vector<int> DevicesOf(const ScheduleRequest& request) {
  if (!request.device_of.empty()) return request.device_of;
  const int devices = request.devices > 0 ? request.devices : (request.shape.stages + 1) / 2;
  std::vector<int> device_of(request.shape.stages);
  for (int stage = 0; stage < request.shape.stages; ++stage) device_of[stage] = stage % devices;
  return device_of;
}

double LargestLoad(const ScheduleRequest& request, const std::vector<int>& device_of) {
  std::vector<double> loads(1 + *std::max_element(device_of.begin(), device_of.end()), 0.0);
  for (std::size_t i = 0; i < device_of.size(); ++i) {
    loads[device_of[i]] += request.costs[i].total();
  }
  return std::max(*std::max_element(loads.begin(), loads.end()),
                  MaxLinkLoad(request.costs, device_of));
}

// Neighbours may be patterns apart, because each waits for its device.
void WidenChannels(Plan& plan) {
  std::vector<int> forward(plan.stage_count() + 1, 0);
  std::vector<int> backward(plan.stage_count() + 1, 0);
  for (const auto& order : plan.devices) {
    for (const Operation& operation : order) {
      if (operation.kind == kForward) forward[operation.stage] = operation.shift;
      if (operation.kind == kBackward) backward[operation.stage] = operation.shift;
    }
  }
  for (Channel& channel : plan.channels) {
    if (channel.from == 0 && channel.to == 1) continue;
    const int apart = forward[channel.to] - forward[channel.from];
    channel.slots = std::max(channel.slots, apart + 2);
    if (channel.from > 0) {
      channel.gradient_slots =
          std::max(channel.gradient_slots, backward[channel.from] - backward[channel.to] + 2);
    }
  }
}

}  // namespace

absl::StatusOr<Phases> Interleaved(const ScheduleRequest& request) {
  const std::vector<int> device_of = DevicesOf(request);
  if (static_cast<int>(device_of.size()) != request.shape.stages ||
      *std::min_element(device_of.begin(), device_of.end()) < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule interleaved: name one device, counted from 0, for each of the ",
                     request.shape.stages, " stages"));
  }
  const double period = std::max(LargestLoad(request, device_of), request.period);
  if (period <= 0) return absl::InvalidArgumentError("schedule interleaved: stages cost nothing");
  Plan plan{.schedule = "interleaved",
            .stages = std::vector<StageRules>(request.shape.stages),
            .channels = ChannelsOf(request.shape),
            .devices = OrdersFrom(request, device_of, period)};
  SizeStages(plan);
  WidenChannels(plan);
  return Phases{{std::move(plan)}};
}

}  // namespace millrace::pipeline
