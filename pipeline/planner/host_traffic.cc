#include "pipeline/planner/host_traffic.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "pipeline/planner/partition.h"

namespace millrace::pipeline {
namespace {

using Kind = HostTransfer::Kind;

// The output of `layer` without the skips that pass behind it.
double MainBytes(const NetworkProfile& network, int layer) {
  double bytes = network.layers[layer].output_bytes;
  for (const SkipProfile& skip : network.skips) {
    if (skip.from <= layer && layer < skip.to) bytes -= skip.bytes;
  }
  return bytes;
}

// Collects the bytes of each kind between two hosts, in the order of the kinds.
class Transfers {
 public:
  explicit Transfers(const HostPlacement& placement) : placement_(placement) {}

  [[nodiscard]] int HostOf(int stage) const { return placement_.host_of_stage.at(stage - 1); }

  void Add(Kind kind, int from, int to, double bytes) {
    if (from != to && bytes > 0) bytes_[{kind, -from, -to}] += bytes;
  }

  // A tensor from one stage to a later one, and its gradient back.
  void AddTensor(const Plan& plan, int from, int to, double bytes) {
    Add(Kind::kActivations, HostOf(from), HostOf(to), bytes);
    if (plan.CarriesGradients({.from = from, .to = to})) {
      Add(Kind::kGradients, HostOf(to), HostOf(from), bytes);
    }
  }

  [[nodiscard]] std::vector<HostTransfer> all() const {
    std::vector<HostTransfer> all;
    for (const auto& [key, bytes] : bytes_) {
      all.push_back({std::get<0>(key), -std::get<1>(key), -std::get<2>(key), bytes});
    }
    return all;
  }

 private:
  const HostPlacement& placement_;
  // Hosts are negative here: the first stages are on the last one.
  std::map<std::tuple<Kind, int, int>, double> bytes_;
};

double ActivationsFrom(int host, const std::vector<HostTransfer>& transfers) {
  double bytes = 0;
  for (const HostTransfer& transfer : transfers) {
    if (transfer.kind == Kind::kActivations && transfer.from == host) bytes += transfer.bytes;
  }
  return bytes;
}

}  // namespace

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kInput:
      return "input";
    case Kind::kActivations:
      return "activations";
    case Kind::kGradients:
      return "gradients";
    case Kind::kWeights:
      break;
  }
  return "weights";
}

std::vector<StageSkip> SkipsOf(const NetworkProfile& network, const Cuts& cuts) {
  std::vector<StageSkip> skips;
  for (const SkipProfile& skip : network.skips) {
    const StageSkip by_stage{StageOfLayer(cuts, skip.from), StageOfLayer(cuts, skip.to)};
    const bool known = std::ranges::any_of(skips, [&](const StageSkip& other) {
      return other.from == by_stage.from && other.to == by_stage.to;
    });
    if (by_stage.to > by_stage.from + 1 && !known) skips.push_back(by_stage);
  }
  return skips;
}

std::vector<HostTransfer> TransfersOf(const NetworkProfile& network, const Cuts& cuts,
                                      const Plan& plan, const HostPlacement& placement) {
  Transfers transfers(placement);
  transfers.Add(Kind::kInput, 0, transfers.HostOf(1), network.input_bytes);
  for (const int cut : cuts) {
    const int stage = StageOfLayer(cuts, cut);
    transfers.AddTensor(plan, stage - 1, stage, MainBytes(network, cut - 1));
  }
  for (const SkipProfile& skip : network.skips) {
    const int from = StageOfLayer(cuts, skip.from);
    const int to = StageOfLayer(cuts, skip.to);
    if (from < to) transfers.AddTensor(plan, from, to, skip.bytes);
  }
  const double copies = (1 + placement.kept_of_weights) / placement.copy_every;
  for (int layer = 0; layer < static_cast<int>(network.layers.size()); ++layer) {
    transfers.Add(Kind::kWeights, transfers.HostOf(StageOfLayer(cuts, layer)), 0,
                  network.layers[layer].weight_bytes * copies);
  }
  return transfers.all();
}

std::vector<HostLoad> LoadsOf(const std::vector<HostTransfer>& transfers, int hosts) {
  std::vector<HostLoad> loads(hosts);
  for (const HostTransfer& transfer : transfers) {
    loads.at(transfer.from).sent_bytes += transfer.bytes;
    loads.at(transfer.to).received_bytes += transfer.bytes;
  }
  return loads;
}

double MessageMs(double bytes, const HostLink& link) { return link.MsFor(bytes) + link.delay_ms; }

double InputMs(const std::vector<HostTransfer>& transfers, const HostLink& link) {
  const auto input = std::ranges::find(transfers, Kind::kInput, &HostTransfer::kind);
  return input != transfers.end() ? MessageMs(input->bytes, link) : 0;
}

std::vector<StageCost> CostsOverHosts(std::vector<StageCost> costs, const HostPlacement& placement,
                                      const std::vector<HostTransfer>& transfers,
                                      const HostLink& link) {
  const std::vector<int>& hosts = placement.host_of_stage;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const bool crosses = i + 1 < costs.size() && hosts[i] != hosts[i + 1];
    costs[i].copy = crosses ? MessageMs(ActivationsFrom(hosts[i], transfers), link) : 0;
  }
  return costs;
}

Plan PlanOverHosts(const Plan& plan, std::span<const int> host_of_stage) {
  const auto host_of = [&](int stage) { return host_of_stage[stage - 1]; };
  Plan over = plan;
  for (Channel& channel : over.channels) {
    if (channel.from == 0 || host_of(channel.from) == host_of(channel.to)) continue;
    channel.slots *= 2;
    channel.gradient_slots *= 2;
  }
  over.devices.clear();
  for (const std::vector<Operation>& order : plan.devices) {
    std::map<int, std::vector<Operation>> by_host;
    for (const Operation& operation : order) {
      by_host[-host_of(operation.stage)].push_back(operation);
    }
    for (auto& [host, operations] : by_host) over.devices.push_back(std::move(operations));
  }
  return over;
}

}  // namespace millrace::pipeline
