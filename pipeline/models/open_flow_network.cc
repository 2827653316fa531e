#include "pipeline/models/open_flow_network.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/nn/stage.h"
#include "pipeline/nn/tensor_snapshot.h"
#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/nn/unit_layers.h"
#include "pipeline/nn/weights_file.h"

namespace millrace::pipeline {
namespace {

constexpr int kColours = 3;
constexpr int kFlowValues = 2;

// Each pair's colour channels as one sample; the picture that the flow starts from comes first.
at::Tensor Stack(const at::Tensor& pictures, PicturePairs pairs) {
  return at::cat({FromPictures(pictures, pairs), ToPictures(pictures, pairs)}, 1);
}

// Runs one pair through, layer by layer, so that a misfit is reported before a camera is opened.
absl::Status Try(const LayerChain& chain, const NamedFlowNetworkOptions& options, int width,
                 int height) {
  const at::NoGradGuard no_graph;
  const Stage whole = WholeChain(chain);
  const TensorSnapshot found(whole.buffers());
  const auto refused = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat(options.name, " cannot be used: ", why));
  };
  MILLRACE_ASSIGN_OR_RETURN(
      const at::Tensor made,
      ExceptionToStatus(
          [&]() -> absl::StatusOr<at::Tensor> {
            return whole.Forward(
                {at::zeros({PictureCount(options.pairs), kColours, height, width})})[0];
          },
          [&](std::string_view text) {
            return refused(absl::StrCat("it fails on a pair of pictures, of 6 channels, ", width,
                                        "x", height, ": ", CauseLine(text)));
          }));
  found.Restore(whole.buffers());
  const std::vector<std::int64_t> needed = {PairCount(options.pairs), kFlowValues, height, width};
  if (made.sizes().vec() == needed && made.scalar_type() == at::kFloat) return absl::OkStatus();
  return refused(absl::StrCat("it makes [", absl::StrJoin(made.sizes(), ", "), "] of ",
                              c10::toString(made.scalar_type()), " where the flow of a picture, [",
                              absl::StrJoin(needed, ", "), "] of Float, is needed"));
}

// Adds our layer before those of the file.
LayerChain OfPictures(LayerChain chain, PicturePairs pairs) {
  chain.layers.insert(chain.layers.begin(), std::make_unique<FunctionLayer>(
                                                "pictures", [pairs](const LayerValues& inputs) {
                                                  return Stack(inputs.main, pairs);
                                                }));
  return chain;
}

absl::StatusOr<NetworkWithState> OpenFile(const NamedFlowNetworkOptions& options, int width,
                                          int height) {
  MILLRACE_ASSIGN_OR_RETURN(TorchScriptChain file, LoadTorchScriptChain(options.name));
  NetworkWithState opened{.chain = {}, .state = file.state()};
  opened.chain = OfPictures(std::move(file.chain), options.pairs);
  MILLRACE_RETURN_IF_ERROR(Try(opened.chain, options, width, height));
  return opened;
}

}  // namespace

absl::StatusOr<NetworkWithState> OpenFlowNetwork(const NamedFlowNetworkOptions& options, int width,
                                                 int height) {
  if (IsNetworkFile(options.name)) return OpenFile(options, width, height);
  NetworkWithState opened{.chain = MakeNamedFlowNetwork(options), .state = {}};
  opened.state = ParametersOf(opened.chain);
  return opened;
}

absl::StatusOr<LayerChain> DecodeFlowNetwork(std::string bytes,
                                             const NamedFlowNetworkOptions& options) {
  MILLRACE_ASSIGN_OR_RETURN(TorchScriptChain file,
                            DecodeTorchScriptChain(std::move(bytes), options.name));
  return OfPictures(std::move(file.chain), options.pairs);
}

}  // namespace millrace::pipeline
