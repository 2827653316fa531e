// Devices whose work goes into GPU streams. Each device has a worker thread, which enqueues
// operations into its stream and continues. It waits for a GPU only if the CPU needs a result.
//
//   thread of device 1:  F2(7) needs F1(7)  ->  its stream waits for F1's event
//                                           ->  F2(7)'s kernels  ->  F2's event is recorded
//
// The engine counts operations that were enqueued. A stream waits for the event of the last
// operation of a kind and stage. Each operation records the event again. A later event than needed
// is harmless: it only waits for more work of the same stream.
#pragma once

#include <vector>

#include <c10/core/Device.h>

#include "absl/status/status.h"
#include "pipeline/engine/devices.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// INVALID_ARGUMENT if one device of the plan has stages on different GPUs or the CPU, or
/// `of_stages` has neither one entry nor one per stage.
[[nodiscard]] absl::Status CheckStreams(const Plan& plan, const std::vector<at::Device>& of_stages);

/// For plans whose stage h computes on `of_stages[h - 1]`, or on the only entry. If that is the
/// CPU: MakeWorkerThreads(). Each plan device on a GPU has its own stream (stage_stream.h).
/// REQUIRES: FindDevices() made `of_stages`, and CheckStreams() is OK for every plan.
[[nodiscard]] MakeDevices MakeDeviceStreams(std::vector<at::Device> of_stages);

}  // namespace millrace::pipeline
