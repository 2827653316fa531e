#include "pipeline/flow/flow_loss.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/where.h>

#include "base/check.h"
#include "pipeline/flow/occlusion.h"
#include "pipeline/ops/flow_terms.h"
#include "pipeline/ops/relative_loss.h"
#include "pipeline/ops/warp.h"

namespace millrace::pipeline {
namespace {

using Kind = FlowLossOptions::Kind;

constexpr double kSsimShare = 0.85;

// One or both directions of a pair, each as one sample.
struct Joined {
  at::Tensor from;
  at::Tensor to;
};

// The other picture warped by the flow, and the pixels that can be judged.
struct Seen {
  at::Tensor grid;
  at::Tensor picture;
  at::Tensor inside;  // The match is inside the picture.
  at::Tensor judged;  // Inside and, with occlusion, not hidden.
};

Seen LookThrough(const at::Tensor& flow, const at::Tensor& to, bool occlusion) {
  Seen seen{.grid = LookUpGrid(flow), .picture = {}, .inside = {}, .judged = {}};
  seen.picture = LookUp(to, seen.grid);
  seen.inside = InsideMask(seen.grid);
  seen.judged = occlusion ? seen.inside.logical_and(VisibleMask(flow)) : seen.inside;
  return seen;
}

// A distance over windows has no values at the border. A pixel is judged only if its whole window
// is.
at::Tensor CutTo(const at::Tensor& mask, const at::Tensor& distance) {
  const std::int64_t window = mask.size(2) - distance.size(2) + 1;
  if (window == 1) return mask;
  return at::max_pool2d(mask.logical_not().to(at::kFloat), {window, window}, /*stride=*/{1, 1}) ==
         0;
}

// The distances per pixel of the flow and of no motion. A pixel that cannot be judged costs as much
// as no motion.
struct Distances {
  at::Tensor of_flow;
  at::Tensor at_rest;

  [[nodiscard]] at::Tensor Mean(const at::Tensor& judged) const {
    return at::where(CutTo(judged, of_flow), of_flow, at_rest).mean();
  }
  [[nodiscard]] at::Tensor Relative(const at::Tensor& mean) const {
    return mean / at_rest.mean().clamp_min(kMinAtRest);
  }
};

template <typename Distance>
Distances Measure(const Joined& pair, const Seen& seen, const Distance& distance) {
  return {.of_flow = distance(pair.from, seen.picture), .at_rest = distance(pair.from, pair.to)};
}

at::Tensor Photometric(const at::Tensor& a, const at::Tensor& b) { return Charbonnier(a - b); }

// The part of an objective that compares the pictures, and its terms.
struct DataPart {
  at::Tensor objective;
  at::Tensor term;
  at::Tensor second_term = {};
};

DataPart Relative(const Distances& distances, const Seen& seen) {
  const at::Tensor mean = distances.Mean(seen.judged);
  return {distances.Relative(mean), mean};
}

DataPart DataOf(const Joined& pair, const at::Tensor& flow, const Seen& seen,
                const Distances& photometric, Kind kind) {
  switch (kind) {
    case Kind::kRelative:
      return Relative(photometric, seen);
    case Kind::kCensus:
      return Relative(Measure(pair, seen, CensusDistance), seen);
    case Kind::kSsim: {
      const DataPart ssim = Relative(Measure(pair, seen, SsimDistance), seen);
      const DataPart bright = Relative(photometric, seen);
      return {kSsimShare * ssim.objective + (1 - kSsimShare) * bright.objective, ssim.term,
              bright.term};
    }
    case Kind::kPhotoAndSmooth: {
      const at::Tensor mean = Photometric(pair.from, LookUpHeld(pair.to, seen.grid)).mean();
      return {mean, mean};
    }
    case Kind::kHs: {
      const at::Tensor invariance = Invariance(pair.from, pair.to, flow);
      return {invariance, invariance};
    }
  }
  MILLRACE_CHECK(false);
  return {};
}

at::Tensor RoughnessOf(const at::Tensor& picture, const at::Tensor& flow, Kind kind) {
  return kind == Kind::kPhotoAndSmooth || kind == Kind::kHs ? QuadraticRoughness(flow)
                                                            : EdgeAwareRoughness(picture, flow);
}

// The scores of the flow from the previous picture to the current one.
void Score(const Distances& photometric, const Seen& seen, FlowLoss& loss) {
  const Distances forward{.of_flow = photometric.of_flow.narrow(0, 0, 1).detach(),
                          .at_rest = photometric.at_rest.narrow(0, 0, 1)};
  loss.photometric = forward.Mean(seen.inside.narrow(0, 0, 1));
  loss.no_motion = forward.at_rest.mean();
}

void NameTerms(const DataPart& data, const at::Tensor& roughness, const FlowLossOptions& options,
               FlowLoss& loss) {
  const std::vector<std::string_view> names = FlowLossTerms(options);
  loss.terms = {{names[0], data.term.detach()}, {names[1], roughness.detach()}};
  if (data.second_term.defined()) loss.terms.push_back({names[2], data.second_term.detach()});
}

void NameHidden(const at::Tensor& inside, const at::Tensor& judged, const at::Tensor& flow,
                const FlowLossOptions& options, FlowLoss& loss) {
  const at::Tensor hidden = inside.logical_and(judged.logical_not());
  loss.terms.push_back({FlowLossTerms(options).back(), hidden.to(flow.scalar_type()).mean()});
}

FlowLoss Relative(const at::Tensor& pictures, const at::Tensor& flow,
                  const FlowLossOptions& options) {
  const at::Tensor visible = options.occlusion ? VisibleMask(flow) : at::Tensor();
  const RelativeLoss made = ComputeRelativeLoss(pictures, flow, visible, options.smoothness);
  FlowLoss loss{.objective = made.objective,
                .photometric = made.score,
                .no_motion = made.no_motion,
                .terms = {}};
  NameTerms({made.objective, made.photometric}, made.roughness, options, loss);
  if (options.occlusion) {
    const at::Tensor inside = InsideMask(LookUpGrid(flow.detach()));
    NameHidden(inside, inside.logical_and(visible), flow, options, loss);
  }
  return loss;
}

}  // namespace

FlowLoss ComputeFlowLoss(const at::Tensor& pictures, const at::Tensor& flow,
                         const FlowLossOptions& options) {
  MILLRACE_CHECK(pictures.dim() == 4 && pictures.size(0) == 2);
  MILLRACE_CHECK(flow.dim() == 4 && flow.size(2) == pictures.size(2) &&
                 flow.size(3) == pictures.size(3) && flow.size(1) == 2);
  MILLRACE_CHECK(flow.size(0) == (options.occlusion ? 2 : 1));
  if (options.kind == Kind::kRelative && HasRelativeLoss(pictures, flow)) {
    return Relative(pictures, flow, options);  // In one operator.
  }
  const PicturePairs pairs = PairsJudged(options);
  const Joined pair{FromPictures(pictures, pairs), ToPictures(pictures, pairs)};
  const Seen seen = LookThrough(flow, pair.to, options.occlusion);
  const Distances photometric = Measure(pair, seen, Photometric);
  const DataPart data = DataOf(pair, flow, seen, photometric, options.kind);
  const at::Tensor roughness = RoughnessOf(pair.from, flow, options.kind);
  FlowLoss loss;
  loss.objective = data.objective + options.smoothness * roughness;
  Score(photometric, seen, loss);
  NameTerms(data, roughness, options, loss);
  if (options.occlusion) NameHidden(seen.inside, seen.judged, flow, options, loss);
  return loss;
}

}  // namespace millrace::pipeline
