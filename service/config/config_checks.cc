#include "service/config/config_checks.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/plural.h"
#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/learner/flow_network_names.h"

namespace millrace::service {

void WrongAt(const ConfigValue& stream, std::string_view section, std::string_view key,
             std::string_view what) {
  const std::optional<ConfigValue> in = stream.Find(section);
  const std::optional<ConfigValue> at = in ? in->Find(key) : std::nullopt;
  if (at) return at->Wrong(what);
  stream.WrongDefault(absl::StrCat(std::string(section), ".", std::string(key)),
                      absl::StrCat("has a ", std::string(section), " whose '", std::string(key),
                                   "' ", std::string(what)));
}

void CheckSchedule(const ConfigValue& stream, const StreamConfig& config) {
  const pipeline::LearnerOptions& learner = config.learner;
  const auto cuts = static_cast<int>(learner.cuts.size());
  if (cuts > 0 && cuts != learner.stages - 1) {
    WrongAt(stream, "schedule", "cuts",
            absl::StrCat("has ", cuts, cuts == 1 ? " entry; " : " entries; ",
                         Plural(learner.stages, "stage"),
                         learner.stages == 1 ? " needs " : " need ", learner.stages - 1));
  }
  if (std::adjacent_find(learner.cuts.begin(), learner.cuts.end(), std::greater_equal<>()) !=
      learner.cuts.end()) {
    WrongAt(stream, "schedule", "cuts", "must rise from entry to entry");
  }
  const auto only_for = [&](bool given, std::string_view key, std::string_view kinds, bool fits) {
    if (!given || fits) return;
    WrongAt(stream, "schedule", key, absl::StrCat("is for ", std::string(kinds), " only"));
  };
  const std::string& kind = learner.schedule;
  only_for(learner.request.period > 0, "period_ms", "the kinds one_f_one_b_star and interleaved",
           kind == "one_f_one_b_star" || kind == "interleaved");
  const pipeline::LearnerOptions defaults;
  only_for(learner.request.recompute != defaults.request.recompute, "recompute", "the kind gpipe",
           kind == "gpipe");
  only_for(learner.request.switch_at != defaults.request.switch_at, "switch_at", "the kind hybrid",
           kind == "hybrid");
  if (kind == "pipedream_2bw" && learner.request.samples > 0 &&
      learner.request.samples < learner.stages) {
    WrongAt(stream, "schedule", "samples",
            absl::StrCat("is ", learner.request.samples,
                         "; pipedream_2bw needs at least as many as stages, ", learner.stages));
  }
  only_for(learner.frames_per_second > 0, "frames_per_second", "the kind auto", kind == "auto");
  only_for(learner.replan_share != defaults.replan_share, "replan_share", "the kind auto",
           kind == "auto");
  only_for(
      learner.request.samples > 0, "samples",
      "the kinds gpipe, timeprest, pipedream_2bw, k_periodic",
      kind == "gpipe" || kind == "timeprest" || kind == "pipedream_2bw" || kind == "k_periodic");
  if (kind == "auto" && cuts > 0) {
    WrongAt(stream, "schedule", "cuts", "cannot be given with the kind auto, which cuts by itself");
  }
}

namespace {

// An input that follows the camera always fits the network.
void CheckInput(const ConfigValue& stream, const StreamConfig& config, int size_multiple) {
  const pipeline::LearnerOptions& learner = config.learner;
  if (!config.input_said) return;
  if (std::min(learner.width, learner.height) < kLeastFlowPicture) {
    WrongAt(stream, "model", "input",
            absl::StrCat("is ", learner.width, "x", learner.height, "; flow needs at least ",
                         kLeastFlowPicture, "x", kLeastFlowPicture));
  }
  if (learner.width % size_multiple != 0 || learner.height % size_multiple != 0) {
    WrongAt(stream, "model", "input",
            absl::StrCat("is ", learner.width, "x", learner.height, "; the network ",
                         config.flow.network, " needs multiples of ", size_multiple));
  }
}

}  // namespace

void CheckModel(const ConfigValue& stream, const StreamConfig& config) {
  const pipeline::FlowTaskOptions& flow = config.flow;
  const auto input = pipeline::FlowNetworkInputOf(flow.network);
  if (!input.ok()) return;  // Already noted.
  CheckInput(stream, config, input->size_multiple);
  if (flow.loss.occlusion && !pipeline::KnowsHiddenPixels(flow.loss.kind)) {
    WrongAt(stream, "model", "occlusion", "is for the losses relative, census and ssim only");
  }
  if (flow.next_frame && flow.loss.occlusion) {
    WrongAt(stream, "model", "occlusion", "needs the flow there and back: not for task next_frame");
  }
  if (flow.next_frame && config.scores.compare_with != "none") {
    WrongAt(stream, "scores", "compare_with", "compares motion: not for task next_frame");
  }
  const pipeline::LearnerOptions& learner = config.learner;
  if (learner.schedule != "local") return;
  const auto most = static_cast<int>(input->level_begins.size()) + 1;
  if (most == 1) {
    WrongAt(stream, "schedule", "kind", "is local, which needs the network levels");
  } else if (learner.stages > most) {
    WrongAt(stream, "schedule", "stages",
            absl::StrCat("is ", learner.stages, "; with the kind local there are at most ", most));
  }
}

}  // namespace millrace::service
