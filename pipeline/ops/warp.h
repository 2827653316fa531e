// Warps a picture or a feature map by a flow.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// The target of every pixel of a flow [1, 2, height, width], as a grid for grid_sample. The grid
/// has the shape [1, height, width, 2], with (-1, -1) and (1, 1) at the centres of the corner
/// pixels. A target more than half a picture outside the frame is clamped there, without gradient.
/// So a flow of any size is safe.
[[nodiscard]] at::Tensor LookUpGrid(const at::Tensor& flow);

/// Values at the grid's points, bilinear; zero outside the picture.
[[nodiscard]] at::Tensor LookUp(const at::Tensor& values, const at::Tensor& grid);

/// The same, but outside the picture the nearest border value.
[[nodiscard]] at::Tensor LookUpHeld(const at::Tensor& values, const at::Tensor& grid);

/// Whether the grid points into the picture: bool [1, 1, height, width], not differentiable.
[[nodiscard]] at::Tensor InsideMask(const at::Tensor& grid);

/// A flow at `factor` times its size; its vectors are scaled likewise.
[[nodiscard]] at::Tensor UpsampleFlow(const at::Tensor& flow, int factor);

}  // namespace millrace::pipeline
