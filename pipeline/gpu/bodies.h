// All kernels of our own.
#pragma once

#include <variant>

#include "pipeline/gpu/loss_bodies.h"
#include "pipeline/gpu/match_bodies.h"
#include "pipeline/gpu/picture_bodies.h"
#include "pipeline/gpu/step_bodies.h"

namespace millrace::pipeline::gpu {

using Body = std::variant<PlanesBody, NormalizeBody, SeeBody, CompareBody, SpreadBody, SeeBackBody,
                          NormalizeBackBody, RestBody, JudgeBody, SumUpBody, RmsPropBody,
                          CompensatedSgdBody>;

}  // namespace millrace::pipeline::gpu
