// Runs cameras' pipelines in separate processes: starts such processes, and has their main
// function.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "base/descriptor.h"
#include "ingest/isolation/spawner.h"

namespace millrace::ingest {

/// Starts the spawner; from now on, NewPipeline() isolates the cameras that request it. `arguments`
/// is the memory of main()'s arguments. Fails as Spawner::Start(). Call it once, before a second
/// thread starts.
[[nodiscard]] absl::Status StartCameraProcesses(std::span<char> arguments);

/// Null before StartCameraProcesses().
[[nodiscard]] const Spawner* CameraProcesses();

/// UNAVAILABLE if the spawner has ended; only a restart of this program helps. Thread-safe.
[[nodiscard]] absl::Status CheckCameraProcesses();

/// Loads the shared libraries before the fork, for Spawner::Options.
void PrepareCameraProcess();
/// The main function of a camera's process. Plays the camera in the task from `socket`, until the
/// other end of `socket` stops writing. Returns the exit code.
[[nodiscard]] int RunCameraProcess(Descriptor socket);

}  // namespace millrace::ingest
