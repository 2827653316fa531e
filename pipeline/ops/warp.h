// Looks up where a flow points: a picture, or a feature map, as seen through the motion.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Where every pixel of a flow [1, 2, height, width] points, as grid_sample wants it:
/// [1, height, width, 2] with (-1, -1) and (1, 1) at the centres of the corner pixels. A match
/// further out than half a picture beside the frame is held there, without gradient: a flow of any
/// size is safe to look up.
[[nodiscard]] at::Tensor LookUpGrid(const at::Tensor& flow);

/// Values at the grid's points, bilinear; outside the picture zero.
[[nodiscard]] at::Tensor LookUp(const at::Tensor& values, const at::Tensor& grid);

/// The same, but outside the picture the nearest value of its border.
[[nodiscard]] at::Tensor LookUpHeld(const at::Tensor& values, const at::Tensor& grid);

/// Whether the grid points into the picture: bool [1, 1, height, width], without a graph.
[[nodiscard]] at::Tensor InsideMask(const at::Tensor& grid);

/// A flow at twice (`factor` times) its size, its vectors longer by as much.
[[nodiscard]] at::Tensor UpsampleFlow(const at::Tensor& flow, int factor);

}  // namespace millrace::pipeline
