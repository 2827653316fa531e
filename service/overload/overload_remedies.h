// Finds remedies for an overload: values of configuration keys, by the measured costs.
#pragma once

#include <optional>
#include <vector>

#include "pipeline/learner/learner_description.h"
#include "service/config/config.h"
#include "service/frames/load_window.h"
#include "service/overload/overload.h"

namespace millrace::service {

/// The state of an overloaded stream and of its machine.
struct OverloadCase {
  /// Rates and effort over the last ten seconds.
  Overload overload = {};
  std::vector<StageLoad> loads = {};
  /// Idle cores of this machine that this process may use.
  double idle_cores = 0;
};

/// Values with which the stream predicts and learns from every frame, with a fifth of the time to
/// spare. Empty if its costs let the learner keep up: the machine is busy otherwise. If frames are
/// dropped, the learner works all the time, so its rate is its real maximum. Otherwise the measured
/// costs of `learner` decide. Assumes that a cost grows with the input's pixels and divides evenly
/// among stages.
[[nodiscard]] Remedies RemediesFor(const OverloadCase& seen, const StreamConfig& config,
                                   const pipeline::LearnerDescription& learner);

/// The link that is busy nearly all the time, and longer than each stage works. nullopt: no link
/// is.
[[nodiscard]] std::optional<LinkLoad> LimitingLink(const std::vector<StageLoad>& stages,
                                                   const std::vector<LinkLoad>& links);

/// The maximum of frames per second if `learner` learns from one frame in `update_every`, computed
/// from its current maximum. 0: unknown.
[[nodiscard]] double RateAt(int update_every, const pipeline::LearnerDescription& learner);

}  // namespace millrace::service
