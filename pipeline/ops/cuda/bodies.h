// The list of all our kernels.
#pragma once

#include <variant>

#include "pipeline/ops/cuda/loss_bodies.h"
#include "pipeline/ops/cuda/match_bodies.h"
#include "pipeline/ops/cuda/picture_bodies.h"
#include "pipeline/ops/cuda/step_bodies.h"

namespace millrace::pipeline::gpu {

using Body = std::variant<PlanesBody, NormalizeBody, SeeBody, CompareBody, SpreadBody, SeeBackBody,
                          NormalizeBackBody, RestBody, JudgeBody, SumUpBody, RmsPropBody,
                          ClippedStepBody, CompensatedSgdBody>;

}  // namespace millrace::pipeline::gpu
