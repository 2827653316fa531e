// Cameras' pipelines in processes of their own: what such a process does, and who starts it.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "base/descriptor.h"
#include "ingest/isolation/spawner.h"

namespace millrace::ingest {

/// From now on cameras that are to be isolated are: see NewPipeline(). `arguments`: those of
/// main(), in one piece. Fails as Spawner::Start(). To be called once, before a second thread.
[[nodiscard]] absl::Status StartCameraProcesses(std::span<char> arguments);

/// Null before StartCameraProcesses().
[[nodiscard]] const Spawner* CameraProcesses();

/// UNAVAILABLE where the process that starts those of cameras has ended, which only a new start of
/// this program mends. Thread-safe.
[[nodiscard]] absl::Status CheckCameraProcesses();

/// What such a process starts with, for Spawner::Options.
void PrepareCameraProcess();
/// Shows the camera that it is told of over `socket`, until that says no more. Returns the exit
/// code.
[[nodiscard]] int RunCameraProcess(Descriptor socket);

}  // namespace millrace::ingest
