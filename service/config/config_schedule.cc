// The section `schedule`.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/plural.h"
#include "pipeline/learner/device_names.h"
#include "pipeline/schedules/schedules.h"
#include "service/config/config_keys.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;
using Json = ConfigJson;
using Target = ConfigTarget;
using Names = std::vector<std::string>;

const Names& Kinds() {
  static const Names names = [] {
    Names all = {"auto"};
    all.insert(all.end(), pipeline::ScheduleNames().begin(), pipeline::ScheduleNames().end());
    return all;
  }();
  return names;
}

// In the order of Recompute.
const Names& Recomputes() {
  static const Names names = {"always", "except_last", "never"};
  return names;
}

// The server checks at its start whether these devices exist.
void SetDevices(const Value& at, const Json& value, const Target& target) {
  const Names names = value;
  for (const std::string& name : names) {
    const bool alone = name == "auto" && names.size() == 1;
    if (alone || name == "cpu" || pipeline::GpuNumber(name)) continue;
    return at.Wrong(absl::StrCat("has '", name,
                                 "'; it must be auto, or of cpu, cuda and cuda:N one for all "
                                 "stages or one for each"));
  }
  target.stream->learner.devices = names;
}

constexpr ConfigKey kScheduleKeys[] = {
    {"kind", ChoiceType{Kinds}, Member([](auto& t) -> auto& { return t.stream->learner.schedule; }),
     "sequential: one frame at a time, the reference. one_f_one_b_star: one forward and one "
     "backward of each stage in turn, the least staleness at full load. partime: every stage "
     "works all the time, on the results of its neighbours from the previous period. auto: a plan "
     "for frames_per_second; the default if the key is left out. Others: one_f_one_b_one_w, local, "
     "recompute, stale, hybrid, pipedream, pipedream_2bw, gpipe, timeprest, k_periodic, "
     "interleaved, delayed. "
     "docs/schedules.md shows them all."},
    {"stages", WholeType{1, kMaxStages},
     Member([](auto& t) -> auto& { return t.stream->learner.stages; }),
     "1 to 8, fewer than the network has layers. Each stage has its own thread, unless placement "
     "or separate_backwards is given or the kind is delayed. Left out: 2. With the kind auto: at "
     "most one for each core, "
     "and never more than 4."},
    {"cuts", WholesType{{0, kMaxStages - 1}, {1, 1000}},
     Member([](auto& t) -> auto& { return t.stream->learner.cuts; }),
     "The first layer of each stage after the first, counted from 0. Left out: the cuts that "
     "balance the measured costs best."},
    {"devices",
     TextsType{{1, kMaxStages}},
     {[](const Target& t) -> Json { return t.stream->learner.devices; }, SetDevices},
     "The devices of the stages: cpu, cuda (the first NVIDIA GPU) or cuda:N, one for all stages "
     "or a list with one for each. auto: the first GPU if it can be used, else the CPU. The log "
     "says at the start which device, and why. Left out: cpu. GPUs are for the tasks flow and "
     "next_frame. With a GPU there is no new plan while it runs.",
     ForTasks::kFlow},
    {"cuda_graphs", FlagType{}, Member([](auto& t) -> auto& { return t.stream->learner.captures; }),
     "On GPUs: capture the work of a stage once as a CUDA graph, and launch it as a whole for each "
     "frame. If this is impossible, the log says why. false: kernel by kernel.",
     ForTasks::kFlow},
    {"frames_per_second", RealType{0.01, 1000},
     Member([](auto& t) -> auto& { return t.stream->learner.frames_per_second; }),
     "auto only: the frame rate of the plan; left out, the camera's, which the plan follows. The "
     "plan uses fewer than `stages` if they suffice."},
    {"replan_share", RealType{0, 100},
     Member([](auto& t) -> auto& { return t.stream->learner.replan_share; }),
     "auto only: plan again if the time of a stage changes by more than this share of the planned "
     "time of the slowest stage. 0: never, also not for another rate of the camera."},
    {"samples", WholeType{1, 1000},
     Member([](auto& t) -> auto& { return t.stream->learner.request.samples; }),
     "gpipe and timeprest: samples (micro-batches) before the model goes backward. pipedream_2bw: "
     "samples for an update. k_periodic: samples of a pattern."},
    {"recompute", ChoiceType{Recomputes},
     Enumeration<Recomputes>([](auto& t) -> auto& { return t.stream->learner.request.recompute; }),
     "gpipe only: the samples whose forward runs again, instead of keeping activations: always, "
     "except_last or never."},
    {"switch_at", WholeType{1, 1'000'000'000},
     Member([](auto& t) -> auto& { return t.stream->learner.request.switch_at; }),
     "hybrid only: the sample before which it becomes sequential."},
    {"period_ms", RealType{0, 60'000},
     Member([](auto& t) -> auto& { return t.stream->learner.request.period; }),
     "one_f_one_b_star, one_f_one_b_one_w and interleaved: the planned time between two frames, in "
     "milliseconds. 0: "
     "the shortest time of the stages."},
    {"separate_backwards", FlagType{},
     Member([](auto& t) -> auto& { return t.stream->learner.request.separate_backwards; }),
     "stale and hybrid only: a second thread for each stage but the last, which runs its backwards "
     "and updates beside its forwards."},
    {"placement", WholesType{{0, kMaxStages}, {0, kMaxStages - 1}},
     Member([](auto& t) -> auto& { return t.stream->learner.request.device_of; }),
     "interleaved only: the thread of each stage, counted from 0. Left out: in turn, half as many "
     "threads as stages."},
    {"stage_rates", RealsType{{0, kMaxStages}, {0, 1000}},
     Member([](auto& t) -> auto& { return t.stream->learner.stage_rates; }),
     "A factor on model.learning_rate for each stage. Left out: 1. Not with auto, which chooses "
     "the "
     "stages."},
    {"stages_on", WholesType{{0, kMaxStages}, {0, kMaxStages - 1}},
     Member([](auto& t) -> auto& { return t.stream->learner.rank_of_stage; }),
     "The host of each stage, as a rank: 0 is this process, 1 the first one that joins (section "
     "ranks), and so on. They fall to 0 for the last stage. With the kind auto, a fast host gets "
     "more layers. Left out: all stages are here. Not with local."},
    {"threads_per_stage", WholeType{1, 256},
     Member([](auto& t) -> auto& { return t.stream->learner.threads_per_stage; }),
     "Threads inside one operation of a stage."},
};

struct EntryCounts {
  int entries = 0;
  int needed = 0;
};

void CheckEntries(const ConfigValue& stream, std::string_view key, const EntryCounts& counts,
                  const pipeline::LearnerOptions& learner) {
  if (counts.entries == counts.needed) return;
  stream.WrongAt(
      "schedule", key,
      absl::StrCat("has ", counts.entries, counts.entries == 1 ? " entry; " : " entries; ",
                   Plural(learner.stages, "stage"), learner.stages == 1 ? " needs " : " need ",
                   counts.needed));
}

void CheckCuts(const ConfigValue& stream, const pipeline::LearnerOptions& learner) {
  const auto cuts = static_cast<int>(learner.cuts.size());
  if (cuts == 0) return;
  CheckEntries(stream, "cuts", {.entries = cuts, .needed = learner.stages - 1}, learner);
  if (std::ranges::adjacent_find(learner.cuts, std::greater_equal<>()) != learner.cuts.end()) {
    stream.WrongAt("schedule", "cuts", "must rise from entry to entry");
  }
  if (learner.schedule == "auto") {
    stream.WrongAt("schedule", "cuts", "cannot be given with the kind auto, which cuts by itself");
  }
}

/// The schedules that read a key.
struct KeyOfKinds {
  std::string_view key;
  std::vector<std::string> kinds;
  bool given;
};

void CheckKeysOfKinds(const ConfigValue& stream, const pipeline::LearnerOptions& learner) {
  const pipeline::LearnerOptions defaults;
  const pipeline::ScheduleRequest& request = learner.request;
  const KeyOfKinds all[] = {
      {"period_ms", {"one_f_one_b_star", "one_f_one_b_one_w", "interleaved"}, request.period > 0},
      {"recompute", {"gpipe"}, request.recompute != defaults.request.recompute},
      {"switch_at", {"hybrid"}, request.switch_at != defaults.request.switch_at},
      {"frames_per_second", {"auto"}, learner.frames_per_second > 0},
      {"replan_share", {"auto"}, learner.replan_share != defaults.replan_share},
      {"samples", {"gpipe", "timeprest", "pipedream_2bw", "k_periodic"}, request.samples > 0},
      {"separate_backwards", {"stale", "hybrid"}, request.separate_backwards},
      {"placement", {"interleaved"}, !request.device_of.empty()},
  };
  for (const auto& [key, kinds, given] : all) {
    if (!given || std::ranges::find(kinds, learner.schedule) != kinds.end()) continue;
    stream.WrongAt("schedule", key,
                   absl::StrCat("is for the ", kinds.size() == 1 ? "kind " : "kinds ",
                                absl::StrJoin(kinds, ", "), " only"));
  }
}

void CheckStageRates(const ConfigValue& stream, const pipeline::LearnerOptions& learner) {
  const auto rates = static_cast<int>(learner.stage_rates.size());
  if (rates == 0) return;
  if (learner.schedule == "auto") {
    stream.WrongAt("schedule", "stage_rates",
                   "cannot be given with the kind auto, which chooses the stages: set kind and "
                   "stages");
  } else {
    CheckEntries(stream, "stage_rates", {.entries = rates, .needed = learner.stages}, learner);
  }
}

// What CheckRanks() and CheckFlowOptions() check again, for learners without a file.
void CheckStagesOn(const ConfigValue& stream, const pipeline::LearnerOptions& learner) {
  const std::vector<int>& ranks = learner.rank_of_stage;
  if (ranks.empty()) return;
  const auto wrong = [&](std::string_view why) { stream.WrongAt("schedule", "stages_on", why); };
  if (learner.schedule == "local") {
    return wrong("cannot be given with the kind local: set another kind, such as one_f_one_b_star");
  }
  if (learner.schedule != "auto") {  // It has as many stages as entries.
    CheckEntries(stream, "stages_on",
                 {.entries = static_cast<int>(ranks.size()), .needed = learner.stages}, learner);
  }
  const bool falls = std::ranges::adjacent_find(ranks, [](int a, int b) {
                       return a - b != 0 && a - b != 1;
                     }) == ranks.end();
  if (ranks.back() != 0 || !falls) {
    return wrong("must fall to 0 for the last stage, by one or not at all, as [1, 1, 0]");
  }
  if (std::ranges::any_of(learner.devices, [](const std::string& d) { return d != "cpu"; })) {
    wrong("is for stages on the CPU: leave out `devices`");
  }
}

// Every stage needs a thread, and the threads are numbered without a gap.
void CheckPlacement(const ConfigValue& stream, const pipeline::LearnerOptions& learner) {
  const std::vector<int>& placement = learner.request.device_of;
  if (placement.empty()) return;
  CheckEntries(stream, "placement",
               {.entries = static_cast<int>(placement.size()), .needed = learner.stages}, learner);
  const int last = *std::ranges::max_element(placement);
  for (int thread = 0; thread < last; ++thread) {
    if (std::ranges::find(placement, thread) != placement.end()) continue;
    stream.WrongAt("schedule", "placement",
                   absl::StrCat("names thread ", last, " but not thread ", thread,
                                "; number the threads without a gap"));
    return;
  }
}

}  // namespace

ConfigKeys ScheduleKeys() { return kScheduleKeys; }

void CheckSchedule(const ConfigValue& stream, const StreamConfig& config) {
  const pipeline::LearnerOptions& learner = config.learner;
  CheckCuts(stream, learner);
  CheckPlacement(stream, learner);
  CheckStageRates(stream, learner);
  CheckStagesOn(stream, learner);
  CheckKeysOfKinds(stream, learner);
  const int samples = learner.request.samples;
  if (learner.schedule == "pipedream_2bw" && samples > 0 && samples < learner.stages) {
    stream.WrongAt(
        "schedule", "samples",
        absl::StrCat("is ", samples, "; pipedream_2bw needs at least as many as stages, ",
                     learner.stages));
  }
}

}  // namespace millrace::service
