#include "pipeline/plan/steady_state.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "pipeline/plan/copies.h"
#include "pipeline/plan/dependencies.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// Shares of the largest load, above the rounding of sums: of one end, and of a cycle.
constexpr double kTolerance = 1e-12;
constexpr double kRounding = 1e-10;
// Rounds between two searches for a cycle among the predecessors.
constexpr std::size_t kRoundsBetweenSearches = 8;

// "`to` in pattern p ends no earlier than `from` in pattern p - patterns, plus `cost`."
struct Edge {
  std::size_t from = 0;
  std::size_t to = 0;
  std::int64_t patterns = 0;
  double cost = 0;
};

// The events of one pattern and their order.
class EventGraph {
 public:
  EventGraph(const Plan& plan, const std::vector<StageCost>& costs)
      : plan_(plan), costs_(costs), dependencies_(plan), copies_(plan, costs) {
    NumberEvents();
    AddDevices();
    AddCopies();
    AddDependencies();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::vector<Edge>& edges() const { return edges_; }
  [[nodiscard]] std::size_t admission(int in_pattern) const { return events_.back()[in_pattern]; }
  // The event in which the last stage predicts.
  [[nodiscard]] std::size_t prediction(int in_pattern) const {
    const std::int64_t position = dependencies_.Position(kForward, plan_.stage_count(), in_pattern);
    return doers_[static_cast<int>(kForward)][plan_.stage_count()].at(position - 1).event;
  }
  // The time for which each device works, by pattern.
  [[nodiscard]] const std::vector<double>& loads() const { return loads_; }
  // The time for which the busiest device or link works, by pattern.
  [[nodiscard]] double MaxLoad() const {
    double max_load = *std::ranges::max_element(loads_);
    for (const double load : copies_.loads()) {
      max_load = std::max(max_load, load * plan_.samples_per_pattern);
    }
    return max_load;
  }

 private:
  // The operation that does one position of a stage's order.
  struct Doer {
    std::size_t event = 0;
    std::size_t device = 0;
    std::size_t place = 0;
  };

  void NumberEvents() {
    for (const auto& order : plan_.devices) {
      auto& of_device = events_.emplace_back();
      for (std::size_t place = 0; place < order.size(); ++place) of_device.push_back(size_++);
    }
    auto& of_camera = events_.emplace_back();
    for (int i = 0; i < plan_.samples_per_pattern; ++i) of_camera.push_back(size_++);
    for (auto& by_stage : doers_) {
      by_stage.assign(plan_.stage_count() + 1, std::vector<Doer>(plan_.samples_per_pattern));
    }
    for (int i = 0; i < plan_.samples_per_pattern; ++i) {
      doers_[0][0][i] = {.event = of_camera[i], .device = plan_.devices.size(), .place = 0};
    }
    for (std::size_t device = 0; device < plan_.devices.size(); ++device) {
      for (std::size_t place = 0; place < plan_.devices[device].size(); ++place) {
        const Operation& operation = plan_.devices[device][place];
        auto& doers = doers_[static_cast<int>(operation.kind)][operation.stage];
        for (int i = 0; i < operation.count; ++i) {
          const std::int64_t position =
              dependencies_.Position(operation.kind, operation.stage, operation.first + i);
          doers.at(position - 1) = {events_[device][place], device, place};
        }
      }
    }
  }

  // A device goes from each operation to the next one, and from the last one to the first one of
  // the next period.
  void AddDevices() {
    for (std::size_t device = 0; device < plan_.devices.size(); ++device) {
      const std::vector<Operation>& order = plan_.devices[device];
      double load = 0;
      for (std::size_t place = 0; place < order.size(); ++place) {
        const double cost = CostAt(device, place);
        load += cost;
        const std::size_t before = place > 0 ? place - 1 : order.size() - 1;
        edges_.push_back(
            {.from = events_[device][before],
             .to = events_[device][place],
             .patterns = order[before].shift - order[place].shift + (place > 0 ? 0 : 1),
             .cost = cost});
      }
      loads_.push_back(load);
    }
    const std::vector<std::size_t>& camera = events_.back();
    for (std::size_t i = 0; i < camera.size(); ++i) {
      edges_.push_back({.from = camera[i > 0 ? i - 1 : camera.size() - 1],
                        .to = camera[i],
                        .patterns = i > 0 ? 0 : 1});
    }
  }

  struct LinkUse {
    std::size_t event = 0;
    int shift = 0;
    double cost = 0;
  };

  // A link carries the copies in the order in which its device makes them.
  void AddCopies() {
    copied_.resize(copies_.all().size());
    for (std::size_t i = 0; i < copied_.size(); ++i) copied_[i].resize(size_);
    std::vector<std::vector<LinkUse>> uses(copies_.loads().size());
    for (std::size_t device = 0; device < plan_.devices.size(); ++device) {
      for (std::size_t place = 0; place < plan_.devices[device].size(); ++place) {
        const Operation& operation = plan_.devices[device][place];
        for (const std::size_t copy : copies_.of(operation.kind, operation.stage)) {
          const std::size_t event = size_++;
          const double cost = copies_.all()[copy].cost * operation.count;
          copied_[copy][events_[device][place]] = event;
          edges_.push_back({.from = events_[device][place], .to = event, .cost = cost});
          uses[copies_.all()[copy].link].push_back({event, operation.shift, cost});
        }
      }
    }
    for (const std::vector<LinkUse>& of_link : uses) AddTurns(of_link);
  }

  // A link carries one copy at a time.
  void AddTurns(const std::vector<LinkUse>& of_link) {
    for (std::size_t i = 0; i < of_link.size(); ++i) {
      const LinkUse& before = of_link[i > 0 ? i - 1 : of_link.size() - 1];
      edges_.push_back({.from = before.event,
                        .to = of_link[i].event,
                        .patterns = before.shift - of_link[i].shift + (i > 0 ? 0 : 1),
                        .cost = of_link[i].cost});
    }
  }

  void AddDependencies() {
    for (std::size_t device = 0; device < plan_.devices.size(); ++device) {
      for (std::size_t place = 0; place < plan_.devices[device].size(); ++place) {
        const Step reader = StepOf(plan_, plan_.devices[device][place], /*period=*/0);
        for (const Dependency& dependency : dependencies_.of(device, place)) {
          Add(dependency, reader, {.to = events_[device][place], .cost = CostAt(device, place)});
        }
      }
    }
    for (int i = 0; i < plan_.samples_per_pattern; ++i) {
      for (const Dependency& dependency : dependencies_.of_admission(i)) {
        Add(dependency, {.stage = 0}, {.to = events_.back()[i]});
      }
    }
  }

  void Add(const Dependency& dependency, const Step& reader, Edge edge) {
    const std::int64_t k = plan_.samples_per_pattern;
    const std::int64_t last = dependency.samples - 1;
    const std::int64_t pattern = last >= 0 ? last / k : (last - k + 1) / k;
    const Doer& doer =
        doers_[static_cast<int>(dependency.kind)][dependency.stage].at(last - pattern * k);
    const std::size_t* const copy = copies_.Find(dependency.kind, dependency.stage, reader);
    edge.from = copy != nullptr ? copied_[*copy][doer.event] : doer.event;
    edge.patterns = -pattern;
    edges_.push_back(edge);
  }

  [[nodiscard]] double CostAt(std::size_t device, std::size_t place) const {
    const Operation& operation = plan_.devices[device][place];
    return CostOf(plan_, operation, costs_[operation.stage - 1]);
  }

  const Plan& plan_;
  const std::vector<StageCost>& costs_;
  const Dependencies dependencies_;
  const DeviceCopies copies_;
  std::size_t size_ = 0;
  std::vector<std::vector<std::size_t>> events_;  // By device and place; the camera is last.
  std::array<std::vector<std::vector<Doer>>, kOperationKinds> doers_;
  std::vector<std::vector<std::size_t>> copied_;  // By copy and event: the event of the copy.
  std::vector<double> loads_;
  std::vector<Edge> edges_;
};

// The longest paths from the sources of a graph, if a pattern takes `pattern_time`. They exist
// unless a cycle takes longer than that for the patterns that it spans.
class LongestPaths {
 public:
  static constexpr double kUnreached = -std::numeric_limits<double>::infinity();

  LongestPaths(const EventGraph& graph, double pattern_time, std::vector<double> sources)
      : graph_(graph),
        pattern_time_(pattern_time),
        tolerance_(kTolerance * graph.MaxLoad()),
        ends_(std::move(sources)),
        last_edge_(graph.size(), nullptr) {}

  // Finds the paths. If a cycle takes longer, returns its time for one pattern instead.
  [[nodiscard]] std::optional<double> Find() {
    // A path without a cycle has fewer edges than there are events.
    for (std::size_t round = 1; round <= graph_.size() && Improve(); ++round) {
      if (round % kRoundsBetweenSearches != 0) continue;
      if (const std::optional<double> longer = LongerCycle()) return longer;
    }
    return LongerCycle();
  }

  [[nodiscard]] double end(std::size_t event) const { return ends_[event]; }

 private:
  bool Improve() {
    bool improved = false;
    for (const Edge& edge : graph_.edges()) {
      const double end =
          ends_[edge.from] + edge.cost - static_cast<double>(edge.patterns) * pattern_time_;
      if (!(end > ends_[edge.to] + tolerance_)) continue;
      ends_[edge.to] = end;
      last_edge_[edge.to] = &edge;
      improved = true;
    }
    return improved;
  }

  // A cycle of last edges takes longer: going round it has raised an end, by more than rounding.
  [[nodiscard]] std::optional<double> LongerCycle() const {
    std::vector<std::size_t> seen_from(graph_.size(), graph_.size());
    for (std::size_t begin = 0; begin < graph_.size(); ++begin) {
      std::size_t at = begin;
      while (seen_from[at] == graph_.size() && last_edge_[at] != nullptr) {
        seen_from[at] = begin;
        at = last_edge_[at]->from;
      }
      if (last_edge_[at] == nullptr || seen_from[at] != begin) continue;
      const double time = TimeOfCycle(at);
      if (time > pattern_time_ + kRounding * graph_.MaxLoad()) return time;
    }
    return std::nullopt;
  }

  [[nodiscard]] double TimeOfCycle(std::size_t begin) const {
    double cost = 0;
    std::int64_t patterns = 0;
    std::size_t at = begin;
    do {
      cost += last_edge_[at]->cost;
      patterns += last_edge_[at]->patterns;
      at = last_edge_[at]->from;
    } while (at != begin);
    MILLRACE_CHECK(patterns > 0);  // Otherwise the plan would deadlock.
    return cost / static_cast<double>(patterns);
  }

  const EventGraph& graph_;
  const double pattern_time_;
  const double tolerance_;
  std::vector<double> ends_;
  std::vector<const Edge*> last_edge_;
};

// From below: while a cycle takes longer, its time is the next guess.
double PatternTime(const EventGraph& graph) {
  double time = graph.MaxLoad();
  for (;;) {
    LongestPaths paths(graph, time, std::vector<double>(graph.size(), 0.0));
    const std::optional<double> longer = paths.Find();
    if (!longer) return time;
    time = *longer;
  }
}

}  // namespace

double SteadyPeriod(const Plan& plan, const std::vector<StageCost>& costs) {
  return PatternTime(EventGraph(plan, costs)) / plan.samples_per_pattern;
}

SteadyFigures Steady(const Plan& plan, const std::vector<StageCost>& costs, double interval) {
  const EventGraph graph(plan, costs);
  const int k = plan.samples_per_pattern;
  const double pattern_time = std::max(interval * k, PatternTime(graph));
  SteadyFigures figures{.period = pattern_time / k};
  std::vector<double> arrivals(graph.size(), LongestPaths::kUnreached);
  for (int i = 0; i < k; ++i) arrivals[graph.admission(i)] = i * figures.period;
  LongestPaths paths(graph, pattern_time, std::move(arrivals));
  MILLRACE_CHECK(!paths.Find());
  for (int i = 0; i < k; ++i) {
    figures.delay += (paths.end(graph.prediction(i)) - i * figures.period) / k;
  }
  for (const double load : graph.loads()) {
    figures.idle.push_back(pattern_time > 0 ? std::max(0.0, 1 - load / pattern_time) : 0);
  }
  return figures;
}

}  // namespace millrace::pipeline
