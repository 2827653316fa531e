#include "pipeline/labels/label_networks.h"

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/flatten.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "pipeline/labels/label_learner.h"
#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/nn/unit_layers.h"
#include "pipeline/nn/weights_file.h"

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
    at::Tensor made = at::linear(in, parameters_[0], parameters_[1]);
    return {options_.relu ? at::relu(made) : std::move(made), {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return parameters_; }

 private:
  const Options options_;
  std::vector<at::Tensor> parameters_;
};

std::int64_t NumbersOf(const LabelLearnerOptions& options) {
  return std::accumulate(options.sample_shape.begin(), options.sample_shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

LayerChain Mlp(const LabelLearnerOptions& options, at::Generator& random) {
  std::int64_t inputs = NumbersOf(options);
  LayerChain chain;
  for (int i = 1; i <= options.layers && !options.stop.stop_requested(); ++i) {
    const bool last = i == options.layers;
    const std::int64_t outputs = last ? options.outputs : options.width;
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

LayerChain Convolutional(const LabelLearnerOptions& options, at::Generator& random) {
  LayerChain chain;
  int channels = static_cast<int>(options.sample_shape[0]);
  const int convolutions = options.layers - 1;
  for (int i = 1; i <= convolutions && !options.stop.stop_requested(); ++i) {
    ConvolutionUnit unit(
        {.inputs = channels, .outputs = options.width, .stride = Halves(i, convolutions) ? 2 : 1},
        random);
    chain.layers.push_back(
        std::make_unique<ConvolutionLayer>(absl::StrCat("convolution ", i), std::move(unit)));
    channels = options.width;
  }
  chain.layers.push_back(std::make_unique<LinearLayer>(
      "linear",
      LinearLayer::Options{
          .inputs = channels, .outputs = options.outputs, .relu = false, .means = true},
      random));
  return chain;
}

absl::Status CheckNetwork(const LabelLearnerOptions& options) {
  if (options.layers < 2 || options.layers > 1000 || options.width < 1 || options.width > 65'536) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.layers, " layers ", options.width,
        " wide cannot be built; use 2 to 1000 layers, 1 to 65536 numbers or channels wide"));
  }
  if (options.network == "mlp") return absl::OkStatus();
  if (options.network == "convolutional" && options.sample_shape.size() == 3) {
    return absl::OkStatus();
  }
  if (options.network == "convolutional") {
    return absl::InvalidArgumentError(
        "the network \"convolutional\" needs samples of channels, rows and columns");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no network \"", options.network,
                   "\"; use one of: ", absl::StrJoin(LabelNetworkNames(), ", ")));
}

absl::StatusOr<LayerChain> Build(const LabelLearnerOptions& options) {
  MILLRACE_RETURN_IF_ERROR(CheckNetwork(options));
  at::Generator random = at::make_generator<at::CPUGeneratorImpl>(options.seed);
  LayerChain chain =
      options.network == "mlp" ? Mlp(options, random) : Convolutional(options, random);
  if (options.stop.stop_requested()) return absl::CancelledError("the learner is not wanted");
  return chain;
}

constexpr double kBytesPerNumber = sizeof(float);

/// A layer with `weights` numbers that makes `outputs` of `inputs` per sample, and its ReLU.
LayerProfile Described(const LabelLearnerOptions& options, double weights, double inputs,
                       double outputs) {
  const double window = kBytesPerNumber * options.window;
  return {.name = {},
          .output_bytes = window * outputs,
          .weight_bytes = kBytesPerNumber * weights,
          .activation_bytes = window * (inputs + 2 * outputs)};
}

std::vector<LayerProfile> DescribeMlp(const LabelLearnerOptions& options) {
  std::vector<LayerProfile> layers;
  auto inputs = static_cast<double>(NumbersOf(options));
  for (int i = 1; i <= options.layers; ++i) {
    const double outputs = i == options.layers ? options.outputs : options.width;
    layers.push_back(Described(options, (inputs + 1) * outputs, inputs, outputs));
    inputs = outputs;
  }
  return layers;
}

std::vector<LayerProfile> DescribeConvolutional(const LabelLearnerOptions& options) {
  constexpr double kKernel = 9;
  std::vector<LayerProfile> layers;
  auto channels = static_cast<double>(options.sample_shape[0]);
  std::int64_t rows = options.sample_shape[1];
  std::int64_t columns = options.sample_shape[2];
  double inputs = channels * static_cast<double>(rows * columns);
  const int convolutions = options.layers - 1;
  for (int i = 1; i <= convolutions; ++i) {
    if (Halves(i, convolutions)) {
      rows = (rows + 1) / 2;
      columns = (columns + 1) / 2;
    }
    const double outputs = options.width * static_cast<double>(rows * columns);
    layers.push_back(Described(options, (kKernel * channels + 1) * options.width, inputs, outputs));
    channels = options.width;
    inputs = outputs;
  }
  layers.push_back(Described(options, (channels + 1) * options.outputs, inputs, options.outputs));
  return layers;
}

}  // namespace

absl::StatusOr<std::vector<LayerProfile>> DescribeLabelNetwork(const LabelLearnerOptions& options) {
  MILLRACE_RETURN_IF_ERROR(CheckNetwork(options));
  return options.network == "mlp" ? DescribeMlp(options) : DescribeConvolutional(options);
}

const std::vector<std::string>& LabelNetworkNames() {
  static const std::vector<std::string> names = {"mlp", "convolutional"};
  return names;
}

std::string TaskInWords(const LabelLearnerOptions& options) {
  std::string task = options.task == LabelTask::kClassification ? "classification" : "regression";
  for (std::size_t i = 0; i < options.classes.size(); ++i) {
    absl::StrAppend(&task, i == 0 ? " of '" : ", '", options.classes[i], "'");
  }
  return task;
}

absl::StatusOr<NetworkWithState> OpenLabelNetwork(const LabelLearnerOptions& options) {
  NetworkWithState opened;
  if (options.model.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(opened.chain, Build(options));
    opened.state = ParametersOf(opened.chain);
  } else {
    MILLRACE_ASSIGN_OR_RETURN(TorchScriptChain file, LoadTorchScriptChain(options.model));
    opened.state = file.state();
    opened.chain = std::move(file.chain);
  }
  if (!options.weights.empty()) {
    MILLRACE_RETURN_IF_ERROR(LoadWeights(options.weights, opened.chain));
  }
  return opened;
}

}  // namespace millrace::pipeline
