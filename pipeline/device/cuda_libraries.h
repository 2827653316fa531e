// Our own CUDA modules, which the program does not link: one makes graphs (device_graphs.h), one
// launches kernels (pipeline/ops/cuda/launcher.h).
#pragma once

namespace millrace::pipeline {

/// Loads the modules and registers them, or the reason why one is missing. Without them a GPU
/// works, but slower. REQUIRES: LibTorch's part for CUDA is loaded.
void LoadCudaLibraries();

}  // namespace millrace::pipeline
