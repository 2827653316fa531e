#include "pipeline/models/bench_networks.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pipeline/models/bench_network_makers.h"
#include "pipeline/nn/unit_layers.h"

namespace millrace::pipeline {
namespace {

constexpr int kMinSide = 16;

struct Kind {
  std::string name;
  int layers;
  int channels;
  std::function<LayerChain(const BenchNetworkOptions&)> make;
};

const std::vector<Kind>& Kinds() {
  using Options = BenchNetworkOptions;
  static const std::vector<Kind> kinds = {
      {"conv", 12, 32, [](const Options& o) { return MakeBenchConvolutions(o, false); }},
      {"conv_pool", 12, 32, [](const Options& o) { return MakeBenchConvolutions(o, true); }},
      {"resnet50", 0, 64,
       [](const Options& o) {
         return MakeBenchResNet(o, {3, 4, 6, 3});
       }},
      {"resnet152", 0, 64,
       [](const Options& o) {
         return MakeBenchResNet(o, {3, 8, 36, 3});
       }},
      {"flow", 0, 0, MakeBenchFlow},
      {"unet_portals", 2, 32, MakeBenchUNet},
      {"unet_carried", 2, 32, [](const Options& o) { return CarrySkips(MakeBenchUNet(o)); }}};
  return kinds;
}

absl::Status CheckOptions(std::string_view name, const BenchNetworkOptions& options) {
  if (options.layers < 0 || options.channels < 0) {
    return absl::InvalidArgumentError("a network needs at least one layer and one channel");
  }
  if (std::min(options.height, options.width) < kMinSide) {
    return absl::InvalidArgumentError(absl::StrCat("samples of ", options.width, "x",
                                                   options.height, " are too small; use at least ",
                                                   kMinSide, "x", kMinSide));
  }
  if (name == "flow" &&
      (options.height % kBenchFlowSide != 0 || options.width % kBenchFlowSide != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("samples of ", options.width, "x",
                                                   options.height, ": network flow needs sides ",
                                                   "that are multiples of ", kBenchFlowSide));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& BenchNetworkNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& kind : Kinds()) all.push_back(kind.name);
    return all;
  }();
  return names;
}

absl::StatusOr<LayerChain> MakeBenchNetwork(std::string_view name,
                                            const BenchNetworkOptions& options) {
  const auto kind = std::find_if(Kinds().begin(), Kinds().end(),
                                 [name](const Kind& k) { return k.name == name; });
  if (kind == Kinds().end()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no network \"", std::string(name),
                                                   "\"; use one of ",
                                                   absl::StrJoin(BenchNetworkNames(), ", ")));
  }
  if (absl::Status checked = CheckOptions(name, options); !checked.ok()) return checked;
  BenchNetworkOptions complete = options;
  if (complete.layers == 0) complete.layers = kind->layers;
  if (complete.channels == 0) complete.channels = kind->channels;
  LayerChain chain = kind->make(complete);
  chain.precision = options.precision;
  return chain;
}

std::vector<at::Tensor> MakeBenchSamples(const BenchNetworkOptions& options, int count) {
  at::Generator random = at::detail::createCPUGenerator(options.seed + 1);
  std::vector<at::Tensor> samples;
  for (int i = 0; i < count; ++i) {
    const at::Tensor sample =
        at::empty({1, kBenchInputChannels, options.height, options.width}, at::kFloat);
    samples.push_back(sample.normal_(0, 1, random).contiguous(at::MemoryFormat::ChannelsLast));
  }
  return samples;
}

LayerChain MakeBenchConvolutions(const BenchNetworkOptions& options, bool pooled) {
  constexpr int kPools = 6;
  constexpr int kMinPooledSide = 4;
  at::Generator random = at::detail::createCPUGenerator(options.seed);
  LayerChain chain;
  int side = std::min(options.height, options.width);
  for (int i = 1; i <= options.layers; ++i) {
    const ConvolutionUnit::Options unit{.inputs = i == 1 ? kBenchInputChannels : options.channels,
                                        .outputs = options.channels,
                                        .kernel = 5};
    chain.layers.push_back(std::make_unique<ConvolutionLayer>(absl::StrCat("conv ", i),
                                                              ConvolutionUnit(unit, random)));
    const bool due = i % std::max(1, options.layers / kPools) == 0;
    if (!pooled || !due || side / 2 < kMinPooledSide) continue;
    side /= 2;
    chain.layers.push_back(
        std::make_unique<FunctionLayer>(absl::StrCat("pool ", i), MaxPooling(2)));
  }
  return chain;
}

}  // namespace millrace::pipeline
