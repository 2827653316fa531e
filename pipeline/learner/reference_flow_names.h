// The names of the reference methods for comparisons with learners. Free of OpenCV.
#pragma once

#include <string>
#include <vector>

namespace millrace::pipeline {

/// none: no motion at all.
/// prior: the flow from which the network refine begins (classical/prior_flow.h), at 2.5 times the
///      cost of dis.
/// dis: OpenCV's DIS (Kroeger et al., "Fast optical flow using dense inverse search", ECCV 2016),
///      preset medium; dis_fast, dis_ultrafast: its other presets.
/// dis_fine: DIS down to the single pixel with 30 steps of refinement and twice the smoothness, at
///      ten times the cost of dis.
/// farneback: OpenCV's Farnebäck (SCIA 2003), with the settings of OpenCV's own example.
[[nodiscard]] const std::vector<std::string>& ReferenceFlowNames();

}  // namespace millrace::pipeline
