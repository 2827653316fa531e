// Whether pictures show the motion that a model sees in them.
//
// The loss alone cannot show it. A flow of half a pixel averages neighbouring pixels, which reduces
// the loss from noise by a fifth. So a model that sees motion on an empty road looks better than
// zero motion. The reversed flow averages as many pixels. Real motion has a higher loss when
// reversed. False motion has the same loss both ways, for any noise and texture.
#pragma once

#include "pipeline/learner/flow_uncertainty.h"

namespace millrace::service {

struct MotionEvidence {
  /// Mean length of the flow, in pixels.
  double motion = 0;
  /// The relative reduction of the pictures' difference along the flow, compared with the reversed
  /// flow, over the moving pixels. About 0 if the pictures do not show the motion, 1 if they show
  /// all of it. 0 if no pixel moves.
  double support = 0;

  /// Whether people see the flow but the pictures do not show it.
  [[nodiscard]] bool IsSpurious() const;
};

/// Samples about two thousand pixels, evenly spread: a tenth of a millisecond. Skips a flow that is
/// not finite or leads out of the picture in either direction.
///
/// REQUIRES: flow has 2 * width * height values, each picture 3 * width * height bytes.
[[nodiscard]] MotionEvidence EvidenceOf(const pipeline::FlowOverPictures& pictures);

}  // namespace millrace::service
