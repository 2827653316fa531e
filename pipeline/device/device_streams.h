// Devices whose work is put into streams of GPUs: a worker thread each, which hands its operations
// to its stream and goes on, and waits for a GPU only where the CPU needs what it makes.
//
//   thread of device 1:  F2(7) needs F1(7)  ->  its stream waits for F1's event
//                                           ->  F2(7)'s kernels  ->  F2's event is recorded
//
// What the engine counts is what has been handed over. What a stream waits for is the event of the
// last operation of that kind and stage: it is recorded again with each, and a later one than
// needed only waits for more of what is in the same stream already.
#pragma once

#include <vector>

#include <c10/core/Device.h>

#include "absl/status/status.h"
#include "pipeline/engine/devices.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// INVALID_ARGUMENT if the plan has one device do the work of stages that compute on different
/// ones, or `of_stages` is neither one nor one for each stage.
[[nodiscard]] absl::Status CheckStreams(const Plan& plan, const std::vector<at::Device>& of_stages);

/// For plans whose stage h computes on `of_stages[h - 1]`, or all on the only one. Where that is
/// the CPU: MakeWorkerThreads(). Stages that share a GPU have a stream each
/// (stage_stream.h). REQUIRES:
/// DevicesNamed() made `of_stages`, and CheckStreams() is OK for every plan.
[[nodiscard]] MakeDevices MakeDeviceStreams(std::vector<at::Device> of_stages);

}  // namespace millrace::pipeline
