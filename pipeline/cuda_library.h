// What the program has of its own for CUDA: a library that nothing links, which makes graphs
// (device_graphs.h) and launches kernels (gpu/launch.h).
#pragma once

namespace millrace::pipeline {

/// Loads it and says who makes graphs and who launches, or why nobody does; without it a GPU works,
/// but slower. REQUIRES: LibTorch's part for CUDA is loaded.
void LoadCudaLibrary();

}  // namespace millrace::pipeline
