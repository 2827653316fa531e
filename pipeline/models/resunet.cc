#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include "absl/strings/str_cat.h"
#include "pipeline/models/published_flow_networks.h"
#include "pipeline/nn/unit_layers.h"

namespace millrace::pipeline {
namespace {

using Activation = ConvolutionUnit::Activation;

constexpr int kFlowChannels = 2;
constexpr int kOriginal = 32;  // Channels at full resolution.
constexpr int kStem = 32;
constexpr int kWidths[] = {32, 64, 128, 256};
constexpr int kBlocks = 2;

struct Shape {
  int inputs;
  int outputs;
  int kernel = 3;
  int stride = 1;
};

ConvolutionUnit Unit(const Shape& shape, Activation activation, at::Generator& random) {
  return ConvolutionUnit({.inputs = shape.inputs,
                          .outputs = shape.outputs,
                          .kernel = shape.kernel,
                          .stride = shape.stride,
                          .activation = activation},
                         random);
}

void Append(const ConvolutionUnit& unit, std::vector<at::Tensor>& all) {
  all.insert(all.end(), unit.parameters().begin(), unit.parameters().end());
}

// Two convolutions at full resolution, sent as a skip to the end of the decoder. The pictures
// themselves are passed on.
class OriginalLayer final : public NamedLayer {
 public:
  OriginalLayer(std::string name, PicturePairs pairs, at::Generator& random)
      : NamedLayer(std::move(name)),
        pairs_(pairs),
        first_(Unit({kPairChannels, kOriginal}, Activation::kRelu, random)),
        second_(Unit({kOriginal, kOriginal}, Activation::kRelu, random)) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    at::Tensor pair = PicturesAsChannels(inputs.main, pairs_);
    Tensors skips;
    skips.push_back(second_.Forward(first_.Forward(pair)));
    return {std::move(pair), std::move(skips)};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> all;
    Append(first_, all);
    Append(second_, all);
    return all;
  }

 private:
  const PicturePairs pairs_;
  const ConvolutionUnit first_;
  const ConvolutionUnit second_;
};

// ResNet's basic block without normalization: two convolutions beside a shortcut. The shortcut is a
// convolution if the shape changes.
class BlockLayer final : public NamedLayer {
 public:
  BlockLayer(std::string name, const Shape& shape, bool has_skip, at::Generator& random)
      : NamedLayer(std::move(name)),
        first_(Unit(shape, Activation::kRelu, random)),
        second_(Unit({shape.outputs, shape.outputs}, Activation::kNone, random)),
        has_skip_(has_skip) {
    if (shape.inputs == shape.outputs && shape.stride == 1) return;
    shortcut_ =
        Unit({shape.inputs, shape.outputs, /*kernel=*/1, shape.stride}, Activation::kNone, random);
  }

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor past = shortcut_ ? shortcut_->Forward(inputs.main) : inputs.main;
    at::Tensor made = at::relu(second_.Forward(first_.Forward(inputs.main)) + past);
    Tensors skips;
    if (has_skip_) skips.push_back(made);
    return {std::move(made), std::move(skips)};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> all;
    Append(first_, all);
    Append(second_, all);
    if (shortcut_) Append(*shortcut_, all);
    return all;
  }

 private:
  const ConvolutionUnit first_;
  const ConvolutionUnit second_;
  std::optional<ConvolutionUnit> shortcut_;
  const bool has_skip_;
};

// One octave of the decoder. Upsamples and concatenates the features from a skip, after an optional
// 1x1 convolution of the skip.
class JoinLayer final : public NamedLayer {
 public:
  JoinLayer(std::string name, std::optional<ConvolutionUnit> of_skip, ConvolutionUnit unit)
      : NamedLayer(std::move(name)), of_skip_(std::move(of_skip)), unit_(std::move(unit)) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor& skip = inputs.skips[0];
    const at::Tensor large = at::upsample_bilinear2d(inputs.main, {skip.size(2), skip.size(3)},
                                                     /*align_corners=*/true);
    return {unit_.Forward(at::cat({large, of_skip_ ? of_skip_->Forward(skip) : skip}, 1)), {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> all;
    if (of_skip_) Append(*of_skip_, all);
    Append(unit_, all);
    return all;
  }

 private:
  const std::optional<ConvolutionUnit> of_skip_;
  const ConvolutionUnit unit_;
};

//   original ──────────────────────────────────────────────────────────────▶ join 1 ─▶ flow
//      └▶ stem 1/2 ─────────────────────────────────────────────▶ join 1/2 ─┘
//            └▶ pool ─▶ blocks 1/4 ──────────────────▶ join 1/4 ─┘
//                          └▶ blocks 1/8 ──▶ join 1/8 ─┘
//                                └▶ blocks 1/16 ─▶ join 1/16 ...
//                                      └▶ blocks 1/32 ─▶ bottom
class ResUnetBuilder {
 public:
  explicit ResUnetBuilder(const NamedFlowNetworkOptions& options)
      : options_(options), random_(at::make_generator<at::CPUGeneratorImpl>(options.seed)) {}

  LayerChain Build() && {
    const int original = Add<OriginalLayer>("original", options_.pairs, random_);
    const int stem = Add<ConvolutionLayer>(
        "stem 1/2", Unit({kPairChannels, kStem, 7, 2}, Activation::kRelu, random_),
        /*has_skip=*/true);
    Add<FunctionLayer>("pool", MaxPooling(3));
    std::vector<int> levels;
    for (int level = 0; level < 4; ++level) levels.push_back(AddBlocks(level));
    Add<ConvolutionLayer>("bottom", Unit({256, 256, 1}, Activation::kRelu, random_));
    Join("join 1/16", {256, 128, 256}, levels[2]);
    Join("join 1/8", {256, 64, 128}, levels[1]);
    Join("join 1/4", {128, 32, 128}, levels[0]);
    Join("join 1/2", {128, kStem, 64}, stem);
    chain_.skips.push_back({original, Next()});
    Add<JoinLayer>("join 1", std::nullopt,
                   Unit({64 + kOriginal, kOriginal}, Activation::kRelu, random_));
    Add<ConvolutionLayer>("flow", ConvolutionUnit({.inputs = kOriginal,
                                                   .outputs = kFlowChannels,
                                                   .kernel = 1,
                                                   .activation = Activation::kNone,
                                                   .zero = true},
                                                  random_));
    return std::move(chain_);
  }

 private:
  struct JoinShape {
    int inputs;
    int skip;
    int outputs;
  };

  [[nodiscard]] int Next() const { return static_cast<int>(chain_.layers.size()); }

  template <typename L, typename... Arguments>
  int Add(Arguments&&... arguments) {
    chain_.layers.push_back(std::make_unique<L>(std::forward<Arguments>(arguments)...));
    return Next() - 1;
  }

  // Two blocks; the second sends its output to the decoder, except on the coarsest level.
  int AddBlocks(int level) {
    const bool coarsest = level == 3;
    for (int block = 0; block < kBlocks; ++block) {
      const bool first = block == 0;
      const int inputs = !first ? kWidths[level] : level == 0 ? kStem : kWidths[level - 1];
      const Shape shape{inputs, kWidths[level], /*kernel=*/3, first && level > 0 ? 2 : 1};
      Add<BlockLayer>(absl::StrCat("block 1/", 4 << level, first ? " a" : " b"), shape,
                      !first && !coarsest, random_);
    }
    return Next() - 1;
  }

  void Join(std::string name, const JoinShape& shape, int skip_from) {
    chain_.skips.push_back({skip_from, Next()});
    ConvolutionUnit of_skip = Unit({shape.skip, shape.skip, 1}, Activation::kRelu, random_);
    Add<JoinLayer>(std::move(name), std::move(of_skip),
                   Unit({shape.inputs + shape.skip, shape.outputs}, Activation::kRelu, random_));
  }

  const NamedFlowNetworkOptions options_;
  at::Generator random_;
  LayerChain chain_;
};

}  // namespace

LayerChain MakeResUnet(const NamedFlowNetworkOptions& options) {
  return ResUnetBuilder(options).Build();
}

}  // namespace millrace::pipeline
