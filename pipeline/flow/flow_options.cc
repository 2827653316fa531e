#include "pipeline/flow/flow_options.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/models/named_flow_network.h"
#include "pipeline/recovery/learner_ranks.h"
#include "pipeline/stages/planned_chain.h"

namespace millrace::pipeline {
namespace {

constexpr int kMinSide = 64;

absl::Status CheckDevices(const LearnerOptions& options) {
  const std::size_t named = options.devices.size();
  if (named <= 1) return absl::OkStatus();
  if (options.schedule != "auto") return CheckDeviceCount(named, options.stages);
  return absl::InvalidArgumentError(
      absl::StrCat("schedule auto decides about stages by itself: name one device, not ", named));
}

absl::Status CheckLearning(const LearnerOptions& options, const LearningOptions& learning) {
  const auto positive = [](const char* name, int value) {
    if (value >= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; it must be at least 1"));
  };
  absl::Status status = CheckDevices(options);
  status.Update(CheckUpdatePolicy(learning.policy));
  status.Update(positive("copy_every", options.copy_every));
  status.Update(positive("frozen_after", learning.events.frozen_after));
  status.Update(positive("window", learning.divergence.window));
  status.Update(positive("max_refused", learning.divergence.max_refused));
  return status;
}

absl::Status CheckSize(const LearnerOptions& options, const std::string& network,
                       const FlowNetworkInput& input) {
  for (int side : {options.width, options.height}) {
    if (side < kMinSide || side % input.size_multiple != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model's input size is ", options.width, "x", options.height,
                       "; for the network ", network, " both sides must be multiples of ",
                       input.size_multiple, " and at least ", kMinSide));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLoss(const FlowTaskOptions& task) {
  if (!(task.loss.smoothness >= 0)) {
    return absl::InvalidArgumentError("the smoothness must not be negative");
  }
  if (task.loss.occlusion && !KnowsHiddenPixels(task.loss.kind)) {
    return absl::InvalidArgumentError(
        "occlusion is for the losses relative, census and ssim: the others are as they were "
        "published");
  }
  if (task.next_frame && task.loss.occlusion) {
    return absl::InvalidArgumentError(
        "occlusion needs the flow there and back of one pair: not for the next frame");
  }
  return absl::OkStatus();
}

// Each stage with its own loss must end with a flow.
absl::Status CheckLocal(const LearnerOptions& options, const std::string& network,
                        const std::vector<int>& level_begins) {
  if (level_begins.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "schedule local needs a network whose stages all make a flow: levels, not ", network));
  }
  const int max_stages = static_cast<int>(level_begins.size()) + 1;
  if (options.stages < 1 || options.stages > max_stages) {
    return absl::InvalidArgumentError(absl::StrCat("schedule local has a level of the network ",
                                                   network, " for each stage, 1 to ", max_stages,
                                                   " stages, not ", options.stages));
  }
  for (int cut : options.cuts) {
    if (std::ranges::find(level_begins, cut) != level_begins.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("with schedule local a stage begins with a level, at one of the layers ",
                     absl::StrJoin(level_begins, ", "), ", not ", cut));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFlowOptions(const LearnerOptions& options, const FlowTaskOptions& task) {
  MILLRACE_ASSIGN_OR_RETURN(const FlowNetworkInput input, FlowNetworkInputOf(task.network));
  MILLRACE_RETURN_IF_ERROR(CheckSize(options, task.network, input));
  MILLRACE_RETURN_IF_ERROR(CheckLearning(options, task.learning));
  if (options.threads_per_stage < 1) {
    return absl::InvalidArgumentError("a stage needs at least one thread");
  }
  MILLRACE_RETURN_IF_ERROR(CheckOptimizer(options.optimizer));
  MILLRACE_RETURN_IF_ERROR(CheckRankOptions(options));
  MILLRACE_RETURN_IF_ERROR(CheckRate(options));
  if (!options.cuts.empty() && static_cast<int>(options.cuts.size()) != options.stages - 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(Plural(options.stages, "stage"), options.stages == 1 ? " has " : " have ",
                     Plural(options.stages - 1, "cut"), ", not ", options.cuts.size()));
  }
  MILLRACE_RETURN_IF_ERROR(CheckLoss(task));
  if (options.schedule == "local") return CheckLocal(options, task.network, input.level_begins);
  return absl::OkStatus();
}

}  // namespace millrace::pipeline
