#include "pipeline/ops/blend_flow.h"

#include <cstddef>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/replication_pad2d.h>
#include <torch/csrc/autograd/custom_function.h>

#include "pipeline/ops/by_operators.h"
#include "pipeline/ops/cpu/kernels.h"

namespace millrace::pipeline {
namespace {

using kernels::BlendedRow;

static_assert(kBlendWeights == kernels::kBlendTaps);

constexpr auto kLayout = at::MemoryFormat::ChannelsLast;
constexpr std::int64_t kMargin = kBlendDistances.back();

// A row of cells, but for the results.
BlendedRow RowOf(const at::Tensor& padded, const at::Tensor& choices, std::int64_t sample,
                 std::int64_t y) {
  const std::int64_t cells = choices.size(3);
  BlendedRow row{.stride = choices.size(1), .count = cells};
  row.choices =
      choices.const_data_ptr<float>() + (sample * choices.size(2) + y) * cells * row.stride;
  row.flow_row = padded.size(3);
  row.flow_plane = padded.size(2) * row.flow_row;
  row.flow = padded.const_data_ptr<float>() + 2 * sample * row.flow_plane +
             (2 * y + kMargin) * row.flow_row + kMargin;
  std::size_t k = 1;
  for (const std::int64_t distance : kBlendDistances) {
    for (std::int64_t dy = -distance; dy <= distance; dy += distance) {
      for (std::int64_t dx = -distance; dx <= distance; dx += distance) {
        if (dy != 0 || dx != 0) row.offsets[k++] = dy * row.flow_row + dx;
      }
    }
  }
  return row;
}

// Calls `run` with each row of cells. `results`: planes of the flow's size.
template <typename Run>
void ForEachRow(const at::Tensor& padded, const at::Tensor& choices, float* results, Run&& run) {
  const std::int64_t cells = choices.size(3);
  for (std::int64_t sample = 0; sample < choices.size(0); ++sample) {
    for (std::int64_t y = 0; y < choices.size(2); ++y) {
      BlendedRow row = RowOf(padded, choices, sample, y);
      row.result_row = 2 * cells;
      row.result_plane = 2 * choices.size(2) * row.result_row;
      row.results = results + 2 * sample * row.result_plane + 2 * y * row.result_row;
      run(row);
    }
  }
}

class BlendFunction final : public torch::autograd::Function<BlendFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& padded,
                            const at::Tensor& choices) {
    context->save_for_backward({padded, choices});
    at::Tensor made = at::empty({choices.size(0), 2, 2 * choices.size(2), 2 * choices.size(3)},
                                choices.options());
    ForEachRow(padded, choices, made.mutable_data_ptr<float>(),
               [](const BlendedRow& row) { kernels::Best().blend(row); });
    return made;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& padded = saved[0];
    const at::Tensor& choices = saved[1];
    const at::Tensor given = gradients[0].contiguous();
    at::Tensor to_choices = at::empty_like(choices);
    float* to = to_choices.mutable_data_ptr<float>();
    ForEachRow(padded, choices, given.mutable_data_ptr<float>(), [&](const BlendedRow& row) {
      kernels::Best().blend_back(row, to);
      to += row.count * row.stride;
    });
    return {at::Tensor(), to_choices};
  }
};

}  // namespace

at::Tensor BlendFlow(const at::Tensor& flow, const at::Tensor& choices) {
  const at::Tensor still = flow.detach();
  if (!choices.device().is_cpu() || choices.scalar_type() != at::kFloat) {
    return by_operators::BlendFlow(still, choices);
  }
  const at::Tensor padded =
      at::replication_pad2d(still, {kMargin, kMargin, kMargin, kMargin}).contiguous();
  return BlendFunction::apply(padded, choices.contiguous(kLayout));
}

}  // namespace millrace::pipeline
