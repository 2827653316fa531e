// NAdamW: AdamW with Nesterov's momentum (Dozat, "Incorporating Nesterov momentum into Adam", ICLR
// workshop 2016), as torch.optim.NAdam with decoupled weight decay.
//
//   m_t    = beta1 (1 - 0.96^(0.004 t) / 2),  p_t = m_1 m_2 ... m_t
//   value  = (1 - learning_rate weight_decay) value
//   mean   = beta1 mean + (1 - beta1) gradient
//   square = beta2 square + (1 - beta2) gradient^2
//   value  = value - learning_rate (m_{t+1} / (1 - p_{t+1}) mean + (1 - m_t) / (1 - p_t) gradient)
//                    / (sqrt(square / (1 - beta2^t)) + eps)
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/pow.h>

#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {
namespace {

class NAdamW final : public Optimizer {
 public:
  NAdamW(std::vector<at::Tensor> parameters, const OptimizerOptions& options)
      : Optimizer(std::move(parameters), options) {}

 private:
  void Apply(const Batch& batch, double learning_rate) override {
    const auto [beta1, beta2] = std::pair(options().beta1, options().beta2);
    const auto momentum = [beta1 = beta1](const at::Tensor& step) {
      return beta1 * (1 - 0.5 * at::pow(0.96, 0.004 * step));
    };
    for (std::size_t i = 0; i < batch.values.size(); ++i) {
      const at::Tensor& g = batch.gradients[i];
      const at::Tensor& mean = batch.states[0][i].mul_(beta1).add_(g, 1 - beta1);
      const at::Tensor& square = batch.states[1][i].mul_(beta2).addcmul_(g, g, 1 - beta2);
      const at::Tensor& step = batch.states[2][i].add_(1);
      const at::Tensor now = momentum(step);
      const at::Tensor next = momentum(step + 1);
      const at::Tensor& p = batch.states[3][i].mul_(now);
      const at::Tensor ahead = mean * (next / (1 - p * next)) + g * ((1 - now) / (1 - p));
      const at::Tensor size = (square / (1 - at::pow(beta2, step))).sqrt_().add_(options().eps);
      batch.values[i].mul_(1 - learning_rate * options().weight_decay);
      batch.values[i].addcdiv_(ahead, size, -learning_rate);
    }
  }
  [[nodiscard]] std::vector<std::vector<at::Tensor>*> Lists() override {
    return {&means_, &squares_, &steps_, &products_};
  }

  std::vector<at::Tensor> means_ = Zeros();
  std::vector<at::Tensor> squares_ = Zeros();
  std::vector<at::Tensor> steps_ = Scalars(0);     // t
  std::vector<at::Tensor> products_ = Scalars(1);  // p_t
};

}  // namespace

std::unique_ptr<Optimizer> MakeNAdamW(std::vector<at::Tensor> parameters,
                                      const OptimizerOptions& options) {
  return std::make_unique<NAdamW>(std::move(parameters), options);
}

}  // namespace millrace::pipeline
