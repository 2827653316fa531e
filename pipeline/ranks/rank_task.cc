#include "pipeline/ranks/rank_task.h"

#include <exception>
#include <stdexcept>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "pipeline/plan/plan_checker.h"
#include "pipeline/plan/plan_part.h"
#include "pipeline/wires/byte_message.h"

namespace millrace::pipeline {
namespace {

using Json = nlohmann::json;

template <typename T, typename Type>
concept Is = std::is_same_v<std::remove_const_t<T>, Type>;

// The members of each type, once for both directions: `visit` gets a name and the member.
void Members(Is<Operation> auto& operation, const auto& visit) {
  visit("kind", operation.kind);
  visit("stage", operation.stage);
  visit("first", operation.first);
  visit("count", operation.count);
  visit("shift", operation.shift);
  visit("keeps", operation.keeps);
  visit("reads", operation.weights.which);
  visit("lag", operation.weights.lag);
}

void Members(Is<StageRules> auto& rules, const auto& visit) {
  visit("lead", rules.lead);
  visit("slots", rules.slots);
  visit("versions", rules.versions);
  visit("gradient", rules.gradient);
  visit("splits_backward", rules.splits_backward);
}

void Members(Is<Channel> auto& channel, const auto& visit) {
  visit("from", channel.from);
  visit("to", channel.to);
  visit("slots", channel.slots);
  visit("gradient_slots", channel.gradient_slots);
}

void Members(Is<Phase> auto& phase, const auto& visit) {
  visit("first_sample", phase.first_sample);
  visit("schedule", phase.plan.schedule);
  visit("samples_per_pattern", phase.plan.samples_per_pattern);
  visit("stages", phase.plan.stages);
  visit("channels", phase.plan.channels);
  visit("devices", phase.plan.devices);
}

void Members(Is<OptimizerOptions> auto& optimizer, const auto& visit) {
  visit("kind", optimizer.kind);
  visit("learning_rate", optimizer.learning_rate);
  visit("momentum", optimizer.momentum);
  visit("nesterov", optimizer.nesterov);
  visit("weight_decay", optimizer.weight_decay);
  visit("beta1", optimizer.beta1);
  visit("beta2", optimizer.beta2);
  visit("eps", optimizer.eps);
  visit("clip_norm", optimizer.clip_norm);
  visit("clip_update", optimizer.clip_update);
  visit("pipemare_steps", optimizer.pipemare_steps);
  visit("spike_compensation", optimizer.spike_compensation);
  visit("measures_cosine", optimizer.measures_cosine);
}

void Members(Is<FlowRankNetwork> auto& network, const auto& visit) {
  visit("name", network.name);
  visit("channels", network.channels);
  visit("occlusion", network.occlusion);
  visit("next_frame", network.next_frame);
  visit("precision", network.precision);
}

void Members(Is<LabelRankNetwork> auto& network, const auto& visit) {
  visit("name", network.name);
  visit("layers", network.layers);
  visit("width", network.width);
  visit("outputs", network.outputs);
  visit("sample_shape", network.sample_shape);
}

// Without the network's file, which is sent as it is.
void Members(Is<RankTask> auto& task, const auto& visit) {
  visit("flow", task.flow);
  visit("labels", task.labels);
  visit("phases", task.phases);
  visit("rank_of_stage", task.rank_of_stage);
  visit("cuts", task.cuts);
  visit("optimizer", task.optimizer);
  visit("stage_rates", task.stage_rates);
  visit("seed", task.seed);
  visit("threads_per_stage", task.threads_per_stage);
  visit("copy_every", task.copy_every);
  visit("measures_links", task.measures_links);
  visit("local_loss", task.local_loss);
}

template <typename T>
constexpr bool kIsOptional = false;
template <typename T>
constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
Json JsonOf(const T& value) {
  if constexpr (kIsOptional<T>) {
    return value ? JsonOf(*value) : Json();
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (requires { Members(value, [](const char*, auto&) {}); }) {
    Json json = Json::object();
    Members(value, [&](const char* name, const auto& member) { json[name] = JsonOf(member); });
    return json;
  } else if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
    Json json = Json::array();
    for (const auto& one : value) json.push_back(JsonOf(one));
    return json;
  } else {
    return value;
  }
}

// The greatest number of an enumeration.
template <typename T>
int MaxOf() {
  if constexpr (std::is_same_v<T, OperationKind>) return kOperationKinds - 1;
  if constexpr (std::is_same_v<T, WeightsRead::Which>) return 2;
  if constexpr (std::is_same_v<T, OptimizerOptions::Kind>) {
    return static_cast<int>(OptimizerNames().size()) - 1;
  }
  return 1;  // Keeps, GradientFrom, Precision.
}

// Fails to compile if a type has another number of members than Members() lists.
[[maybe_unused]] void CountMembers(const RankTask& task) {
  [[maybe_unused]] const auto& [o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11, o12, o13] =
      task.optimizer;
  [[maybe_unused]] const auto& [t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13] = task;
  // The rank is of a part (plan_part.h).
  [[maybe_unused]] const auto& [r1, r2, r3, r4, r5, rank] = StageRules();
  [[maybe_unused]] const auto& [p1, p2, p3, p4, p5, p6, p7] = Operation();
  [[maybe_unused]] const auto& [c1, c2, c3, c4] = Channel();
  [[maybe_unused]] const auto& [n1, n2, n3, n4, n5] = FlowRankNetwork();
  [[maybe_unused]] const auto& [l1, l2, l3, l4, l5] = LabelRankNetwork();
}

// Throws if the JSON has another form.
template <typename T>
void Read(const Json& json, T& value) {
  if constexpr (kIsOptional<T>) {
    if (!json.is_null()) Read(json, value.emplace());
  } else if constexpr (std::is_enum_v<T>) {
    const int number = json.get<int>();
    if (number < 0 || number > MaxOf<T>()) throw std::out_of_range("a number is out of range");
    value = static_cast<T>(number);
  } else if constexpr (requires { Members(value, [](const char*, auto&) {}); }) {
    Members(value, [&](const char* name, auto& member) { Read(json.at(name), member); });
  } else if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
    for (const Json& one : json) Read(one, value.emplace_back());
  } else {
    value = json.get<T>();
  }
}

absl::Status Check(const RankTask& task) {
  if (task.phases.empty()) return absl::InvalidArgumentError("it has no plan");
  const int stages = task.phases.front().plan.stage_count();
  std::int64_t before = -1;
  for (const Phase& phase : task.phases) {
    MILLRACE_RETURN_IF_ERROR(CheckPlan(phase.plan).status());
    MILLRACE_RETURN_IF_ERROR(CheckRanks(phase.plan, task.rank_of_stage));
    if (phase.plan.stage_count() != stages || phase.first_sample <= before) {
      return absl::InvalidArgumentError("its plans do not follow each other");
    }
    before = phase.first_sample;
  }
  const bool right_sizes =
      static_cast<int>(task.cuts.size()) == stages - 1 &&
      (task.stage_rates.empty() || static_cast<int>(task.stage_rates.size()) == stages) &&
      task.threads_per_stage >= 1 && task.copy_every >= 0;
  if (!right_sizes) return absl::InvalidArgumentError("its numbers do not fit its plans");
  return CheckOptimizer(task.optimizer);
}

}  // namespace

std::string TextOf(const RankTask& task) { return JsonOf(task).dump(); }

absl::StatusOr<RankTask> TaskOf(std::string_view text) {
  RankTask task;
  try {
    Read(Json::parse(text), task);
  } catch (const std::exception& e) {
    return absl::DataLossError(absl::StrCat("the leader's task cannot be read: ", e.what()));
  }
  const absl::Status can_run = Check(task);
  if (can_run.ok()) return task;
  return absl::DataLossError(absl::StrCat("the leader's task cannot run: ", can_run.message()));
}

absl::Status SendTask(RankGroup& group, const RankTask& task) {
  const std::string text = TextOf(task);
  for (int rank = 1; rank < group.size(); ++rank) {
    MILLRACE_RETURN_IF_ERROR(SendBytes(group.wires(), rank, kTaskTag, text));
    MILLRACE_RETURN_IF_ERROR(SendBytes(group.wires(), rank, kTaskTag, task.network_file));
  }
  return absl::OkStatus();
}

absl::StatusOr<RankTask> ReceiveTask(Wires& wires) {
  constexpr std::size_t kMaxBytes = 64 << 20;
  constexpr std::size_t kMaxFileBytes = std::size_t{16} << 30;
  MILLRACE_ASSIGN_OR_RETURN(const std::string text, ReceiveBytes(wires, 0, kTaskTag, kMaxBytes));
  MILLRACE_ASSIGN_OR_RETURN(RankTask task, TaskOf(text));
  MILLRACE_ASSIGN_OR_RETURN(task.network_file, ReceiveBytes(wires, 0, kTaskTag, kMaxFileBytes));
  return task;
}

absl::StatusOr<Phases> PhasesOfRank(const RankTask& task, int rank) {
  Phases phases = task.phases;
  for (Phase& phase : phases) {
    MILLRACE_ASSIGN_OR_RETURN(phase.plan, PartOf(phase.plan, task.rank_of_stage, rank));
  }
  return phases;
}

}  // namespace millrace::pipeline
