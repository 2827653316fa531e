#include "service/stream/plan_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/plural.h"

namespace millrace::service {
namespace {

double StageMs(const pipeline::StageDescription& stage) {
  return stage.forward_ms + stage.backward_ms + stage.update_ms;
}

}  // namespace

std::string DescribePlan(const pipeline::LearnerDescription& learner) {
  std::vector<std::string> costs;
  costs.reserve(learner.stages.size());
  std::vector<std::string> devices;
  for (const pipeline::StageDescription& stage : learner.stages) {
    costs.push_back(absl::StrFormat("%.0f", StageMs(stage)));
    if (std::find(devices.begin(), devices.end(), stage.device) == devices.end()) {
      devices.push_back(stage.device);
    }
  }
  const bool on_gpus = std::ranges::any_of(
      devices, [](const std::string& device) { return device.starts_with("cuda"); });
  std::string text = absl::StrCat(learner.schedule, ", ", Plural(learner.stages.size(), "stage"),
                                  " on ", Plural(devices.size(), on_gpus ? "device" : "thread"),
                                  " (", absl::StrJoin(devices, " "), ")");
  if (learner.stages.size() > 1) {
    absl::StrAppend(&text, ", cut at layer ", absl::StrJoin(learner.cuts(), ", "));
  }
  return absl::StrCat(text, ": ", absl::StrJoin(costs, " + "), " ms");
}

std::int64_t TimesReplanned(const pipeline::LearnerDescription& learner) {
  return learner.rate_plan ? learner.rate_plan->switched + learner.rate_plan->kept : 0;
}

std::string DescribeReplan(const pipeline::LearnerDescription& before,
                           const pipeline::LearnerDescription& after) {
  MILLRACE_CHECK(before.rate_plan && after.rate_plan);
  const bool switched = after.rate_plan->switched > before.rate_plan->switched;
  return absl::StrCat("planned again, as ", after.rate_plan->why, ": ",
                      switched ? absl::StrCat(DescribePlan(before), " -> ") : "keeps ",
                      DescribePlan(after),
                      absl::StrFormat(", %.1f frames a second", after.samples_per_second),
                      DescribeEffort(after), DescribeDrops(after));
}

bool ReplanIsNews(const pipeline::LearnerDescription& before,
                  const pipeline::LearnerDescription& after) {
  MILLRACE_CHECK(before.rate_plan && after.rate_plan);
  return after.rate_plan->switched > before.rate_plan->switched ||
         after.update_every != before.update_every ||
         after.rate_plan->holds != before.rate_plan->holds;
}

std::string DescribeEffort(const pipeline::LearnerDescription& learner) {
  if (learner.update_every == 1) return "";
  if (learner.update_every == 0) return ", only predicting";
  return absl::StrCat(", learning from one frame in ", learner.update_every);
}

std::string DescribeDrops(const pipeline::LearnerDescription& learner) {
  if (!learner.rate_plan || learner.rate_plan->holds) return "";
  return absl::StrFormat(", %.2g %% of the frames dropped", 100 * learner.rate_plan->dropped_share);
}

}  // namespace millrace::service
