// Devices whose work is put into streams of GPUs: a worker thread each, which hands its operations
// to its stream and goes on, and waits for a GPU only where the CPU needs what it makes.
//
//   thread of device 1   needs F1(7)? ─▶ stream 1 waits for F1's event ─▶ F2(7)'s kernels ─▶ record
//   F2's
//
// What the engine counts is what has been handed over. What a stream waits for is the event of the
// last operation of that kind and stage: it is recorded again with each, and a later one than
// needed only waits for more of what is in the same stream already.
#pragma once

#include <vector>

#include <c10/core/Device.h>

#include "pipeline/devices.h"

namespace millrace::pipeline {

/// For plans whose stage h computes on `of_stages[h - 1]`, or all on the only one. Where that is
/// the CPU: MakeWorkerThreads(). Stages that share a GPU have a stream each. REQUIRES:
/// DevicesNamed() made `of_stages`.
[[nodiscard]] MakeDevices MakeDeviceStreams(std::vector<at::Device> of_stages);

}  // namespace millrace::pipeline
