// What ends an overload: values of configuration keys, by the costs that were measured.
#pragma once

#include <vector>

#include "pipeline/learner/learner_description.h"
#include "service/config/config.h"
#include "service/frames/load_window.h"
#include "service/overload/overload.h"

namespace millrace::service {

/// Of a stream and of the machine, when it is overloaded.
struct OverloadCase {
  /// Rates and effort of the last ten seconds.
  Overload overload = {};
  std::vector<StageLoad> loads = {};
  /// Cores of this machine that stand idle and that this process may use.
  double idle_cores = 0;
};

/// Values with which every frame is predicted and learned from, a fifth of the time left to spare.
/// Where frames are dropped the learner works all the time, so its rate is what it really can do;
/// else what `learner`, as it is now, was measured to cost decides. A cost is taken to grow with
/// the input's pixels, and to divide evenly among stages.
[[nodiscard]] Remedies RemediesFor(const OverloadCase& seen, const StreamConfig& config,
                                   const pipeline::LearnerDescription& learner);

/// Frames a second that `learner` can do if it learns from every `update_every`-th, by what it can
/// do as it is. 0: it is not known.
[[nodiscard]] double RateAt(int update_every, const pipeline::LearnerDescription& learner);

}  // namespace millrace::service
