#include "pipeline/models/named_flow_network.h"

#include <ATen/ops/cat.h>

#include "base/check.h"
#include "pipeline/models/coarse_to_fine_network.h"
#include "pipeline/models/published_flow_networks.h"
#include "pipeline/models/refining_network.h"

namespace millrace::pipeline {

LayerChain MakeNamedFlowNetwork(const NamedFlowNetworkOptions& options) {
  if (options.name == "levels") return MakeFlowLevels(options);
  if (options.name == "ndconv") return MakeNdConv(options);
  if (options.name == "resunet") return MakeResUnet(options);
  if (options.name == "flownets") return MakeFlowNetS(options);
  if (options.name == "refine") {
    return MakeRefiningNetwork({.seed = options.seed, .pairs = options.pairs});
  }
  MILLRACE_CHECK(options.name == "flow");
  return MakeCoarseToFineNetwork({.seed = options.seed, .pairs = options.pairs});
}

at::Tensor PicturesAsChannels(const at::Tensor& pictures, PicturePairs pairs) {
  return at::cat({ToPictures(pictures, pairs), FromPictures(pictures, pairs)}, 1);
}

}  // namespace millrace::pipeline
