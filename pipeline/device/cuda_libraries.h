// What the program has of its own for CUDA: libraries that nothing links, one that makes graphs
// (device_graphs.h) and one that launches kernels (pipeline/ops/cuda/launcher.h).
#pragma once

namespace millrace::pipeline {

/// Loads them and says who makes graphs and who launches, or why nobody does; without them a GPU
/// works, but slower. REQUIRES: LibTorch's part for CUDA is loaded.
void LoadCudaLibraries();

}  // namespace millrace::pipeline
