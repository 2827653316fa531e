#include "pipeline/labels/label_networks.h"

#include <cmath>
#include <memory>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/flatten.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/nn/unit_layers.h"
#include "pipeline/nn/weights_file.h"
#include "pipeline/ops/split_operators.h"

namespace millrace::pipeline {
namespace {

// A fully connected layer, for inputs of any shape.
class LinearLayer final : public NamedLayer {
 public:
  struct Options {
    std::int64_t inputs = 1;
    std::int64_t outputs = 1;
    bool relu = true;
    /// Takes the mean over space first; for pictures.
    bool means = false;
  };

  LinearLayer(std::string name, const Options& options, at::Generator& random)
      : NamedLayer(std::move(name)), options_(options) {
    // This gain keeps the variance through a ReLU; a layer without a ReLU outputs scores.
    const double gain = options.relu ? 2 : 1;
    at::Tensor weight = at::empty({options.outputs, options.inputs}, at::kFloat);
    weight.normal_(0, std::sqrt(gain / static_cast<double>(options.inputs)), random);
    parameters_ = {weight.set_requires_grad(true),
                   at::zeros({options.outputs}, at::kFloat).set_requires_grad(true)};
  }

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor in = options_.means ? inputs.main.mean({2, 3}) : inputs.main.flatten(1);
    at::Tensor made = SplitLinear(in, parameters_[0], parameters_[1]);
    return {options_.relu ? at::relu(made) : std::move(made), {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return parameters_; }

 private:
  const Options options_;
  std::vector<at::Tensor> parameters_;
};

using Shape = std::vector<std::int64_t>;

LayerChain Mlp(const LabelTaskOptions& task, const Shape& sample, const std::stop_token& stop,
               at::Generator& random) {
  std::int64_t inputs = NumbersOf(sample);
  LayerChain chain;
  for (int i = 1; i <= task.layers && !stop.stop_requested(); ++i) {
    const bool last = i == task.layers;
    const std::int64_t outputs = last ? task.outputs : task.width;
    chain.layers.push_back(std::make_unique<LinearLayer>(
        absl::StrCat("linear ", i),
        LinearLayer::Options{.inputs = inputs, .outputs = outputs, .relu = !last}, random));
    inputs = outputs;
  }
  return chain;
}

// The size is halved after a third and two thirds of the convolutions; `i` is this one's number.
bool Halves(int i, int convolutions) {
  return i > 1 && 3 * (i - 1) / convolutions != 3 * (i - 2) / convolutions;
}

LayerChain Convolutional(const LabelTaskOptions& task, const Shape& sample,
                         const std::stop_token& stop, at::Generator& random) {
  LayerChain chain;
  int channels = static_cast<int>(sample[0]);
  const int convolutions = task.layers - 1;
  for (int i = 1; i <= convolutions && !stop.stop_requested(); ++i) {
    ConvolutionUnit unit(
        {.inputs = channels, .outputs = task.width, .stride = Halves(i, convolutions) ? 2 : 1},
        random);
    chain.layers.push_back(
        std::make_unique<ConvolutionLayer>(absl::StrCat("convolution ", i), std::move(unit)));
    channels = task.width;
  }
  chain.layers.push_back(std::make_unique<LinearLayer>(
      "linear",
      LinearLayer::Options{
          .inputs = channels, .outputs = task.outputs, .relu = false, .means = true},
      random));
  return chain;
}

absl::Status CheckNetwork(const LabelTaskOptions& task, const Shape& sample) {
  if (task.layers < 2 || task.layers > 1000 || task.width < 1 || task.width > 65'536) {
    return absl::InvalidArgumentError(absl::StrCat(
        task.layers, " layers ", task.width,
        " wide cannot be built; use 2 to 1000 layers, 1 to 65536 numbers or channels wide"));
  }
  if (task.network == "mlp") return absl::OkStatus();
  if (task.network == "convolutional" && sample.size() == 3) {
    return absl::OkStatus();
  }
  if (task.network == "convolutional") {
    return absl::InvalidArgumentError(
        "the network \"convolutional\" needs samples of channels, rows and columns");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no network \"", task.network,
                   "\"; use one of: ", absl::StrJoin(LabelNetworkNames(), ", ")));
}

absl::StatusOr<LayerChain> Build(const LearnerOptions& options, const LabelTaskOptions& task,
                                 const std::stop_token& stop) {
  const Shape sample = SampleShape(options, task);
  MILLRACE_RETURN_IF_ERROR(CheckNetwork(task, sample));
  at::Generator random = at::make_generator<at::CPUGeneratorImpl>(options.seed);
  LayerChain chain = task.network == "mlp" ? Mlp(task, sample, stop, random)
                                           : Convolutional(task, sample, stop, random);
  if (stop.stop_requested()) return absl::CancelledError("the learner is not wanted");
  return chain;
}

constexpr double kBytesPerNumber = sizeof(float);

/// A layer with `weights` numbers that makes `outputs` of `inputs` per sample, and its ReLU.
LayerProfile Described(int window_size, double weights, double inputs, double outputs) {
  const double window = kBytesPerNumber * window_size;
  return {.name = {},
          .output_bytes = window * outputs,
          .weight_bytes = kBytesPerNumber * weights,
          .activation_bytes = window * (inputs + 2 * outputs)};
}

std::vector<LayerProfile> DescribeMlp(const LabelTaskOptions& task, const Shape& sample) {
  std::vector<LayerProfile> layers;
  auto inputs = static_cast<double>(NumbersOf(sample));
  for (int i = 1; i <= task.layers; ++i) {
    const double outputs = i == task.layers ? task.outputs : task.width;
    layers.push_back(Described(task.window, (inputs + 1) * outputs, inputs, outputs));
    inputs = outputs;
  }
  return layers;
}

std::vector<LayerProfile> DescribeConvolutional(const LabelTaskOptions& task, const Shape& sample) {
  constexpr double kKernel = 9;
  std::vector<LayerProfile> layers;
  auto channels = static_cast<double>(sample[0]);
  std::int64_t rows = sample[1];
  std::int64_t columns = sample[2];
  double inputs = channels * static_cast<double>(rows * columns);
  const int convolutions = task.layers - 1;
  for (int i = 1; i <= convolutions; ++i) {
    if (Halves(i, convolutions)) {
      rows = (rows + 1) / 2;
      columns = (columns + 1) / 2;
    }
    const double outputs = task.width * static_cast<double>(rows * columns);
    layers.push_back(
        Described(task.window, (kKernel * channels + 1) * task.width, inputs, outputs));
    channels = task.width;
    inputs = outputs;
  }
  layers.push_back(Described(task.window, (channels + 1) * task.outputs, inputs, task.outputs));
  return layers;
}

}  // namespace

absl::StatusOr<std::vector<LayerProfile>> DescribeLabelNetwork(const LearnerOptions& options,
                                                               const LabelTaskOptions& task) {
  const Shape sample = SampleShape(options, task);
  MILLRACE_RETURN_IF_ERROR(CheckNetwork(task, sample));
  return task.network == "mlp" ? DescribeMlp(task, sample) : DescribeConvolutional(task, sample);
}

std::string TaskInWords(const LabelTaskOptions& task) {
  std::string words = task.task == LabelTask::kClassification ? "classification" : "regression";
  for (std::size_t i = 0; i < task.classes.size(); ++i) {
    absl::StrAppend(&words, i == 0 ? " of '" : ", '", task.classes[i], "'");
  }
  return words;
}

absl::StatusOr<NetworkWithState> OpenLabelNetwork(const LearnerOptions& options,
                                                  const LabelTaskOptions& task,
                                                  const std::stop_token& stop) {
  NetworkWithState opened;
  if (task.model.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(opened.chain, Build(options, task, stop));
    opened.state = ParametersOf(opened.chain);
  } else {
    MILLRACE_ASSIGN_OR_RETURN(TorchScriptChain file, LoadTorchScriptChain(task.model));
    opened.state = file.state();
    opened.chain = std::move(file.chain);
  }
  if (!options.weights.empty()) {
    MILLRACE_RETURN_IF_ERROR(LoadWeights(options.weights, opened.chain));
  }
  return opened;
}

}  // namespace millrace::pipeline
