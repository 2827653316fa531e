#include "pipeline/comparison/pseudo_truth.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/classical/grey_picture.h"
#include "pipeline/classical/reference_flow.h"

namespace millrace::pipeline {
namespace {

// In pixels: between the two methods, and between each one's way there and back.
constexpr float kAgreement = 0.3F;
constexpr int kWindow = 15;
constexpr int kLevels = 4;

/// A dense flow, and where the method found any.
struct Found {
  std::vector<float> flow;
  std::vector<std::uint8_t> found;
};

/// Pyramidal Lucas-Kanade at every pixel.
Found LucasKanade(const cv::Mat& from, const cv::Mat& to) {
  std::vector<cv::Point2f> points;
  points.reserve(from.total());
  for (int y = 0; y < from.rows; ++y) {
    for (int x = 0; x < from.cols; ++x) {
      points.emplace_back(static_cast<float>(x), static_cast<float>(y));
    }
  }
  std::vector<cv::Point2f> moved;
  Found found;
  cv::calcOpticalFlowPyrLK(
      from, to, points, moved, found.found, cv::noArray(), {kWindow, kWindow}, kLevels,
      cv::TermCriteria(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 30, 0.01));
  for (std::size_t i = 0; i < points.size(); ++i) {
    found.flow.push_back(moved[i].x - points[i].x);
    found.flow.push_back(moved[i].y - points[i].y);
  }
  return found;
}

/// How far from each pixel the way there and back ends. Very far if it leads out of the picture.
std::vector<float> MissedBy(const std::vector<float>& there, const std::vector<float>& back,
                            int width, int height) {
  // OpenCV requires writable values, but only reads them here.
  const cv::Mat forth(height, width, CV_32FC2, const_cast<float*>(there.data()));
  const cv::Mat backward(height, width, CV_32FC2, const_cast<float*>(back.data()));
  cv::Mat targets(height, width, CV_32FC2);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      targets.at<cv::Vec2f>(y, x) =
          forth.at<cv::Vec2f>(y, x) + cv::Vec2f(static_cast<float>(x), static_cast<float>(y));
    }
  }
  cv::Mat returned;
  constexpr float kOutside = 1e9F;
  cv::remap(backward, returned, targets, cv::noArray(), cv::INTER_LINEAR, cv::BORDER_CONSTANT,
            cv::Scalar(kOutside, kOutside));
  std::vector<float> missed;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const cv::Vec2f miss = forth.at<cv::Vec2f>(y, x) + returned.at<cv::Vec2f>(y, x);
      missed.push_back(std::hypot(miss[0], miss[1]));
    }
  }
  return missed;
}

/// A truth in little memory: the vectors in 256ths of a pixel.
class PackedTruth {
 public:
  static constexpr float kUnits = 256;

  explicit PackedTruth(TrueFlow truth)
      : width_(truth.width), height_(truth.height), known_(std::move(truth.known)) {
    constexpr float kMax = std::numeric_limits<std::int16_t>::max();
    flow_.reserve(truth.flow.size());
    for (std::size_t i = 0; i < truth.flow.size(); ++i) {
      const float value = std::round(truth.flow[i] * kUnits);
      if (!(std::abs(value) <= kMax)) known_[i / 2] = 0;
      flow_.push_back(static_cast<std::int16_t>(std::clamp(value, -kMax, kMax)));
    }
  }

  [[nodiscard]] std::shared_ptr<const TrueFlow> Unpack() const {
    auto truth =
        std::make_shared<TrueFlow>(TrueFlow{.width = width_, .height = height_, .known = known_});
    truth->flow.reserve(flow_.size());
    for (const std::int16_t value : flow_) {
      truth->flow.push_back(static_cast<float>(value) / kUnits);
    }
    return truth;
  }

 private:
  int width_;
  int height_;
  std::vector<std::int16_t> flow_;
  std::vector<std::uint8_t> known_;
};

using Truths = std::vector<PackedTruth>;

class Reading final : public Clip {
 public:
  Reading(std::unique_ptr<Clip> pictures, std::shared_ptr<const Truths> truths)
      : pictures_(std::move(pictures)), truths_(std::move(truths)) {}

  absl::StatusOr<std::optional<ClipPair>> Next() override {
    MILLRACE_ASSIGN_OR_RETURN(std::optional<ClipPair> pair, pictures_->Next());
    if (!pair) return pair;
    // A clip that has grown meanwhile has no more truth.
    pair->truth = next_ < truths_->size() ? (*truths_)[next_].Unpack() : nullptr;
    ++next_;
    return pair;
  }

 private:
  const std::unique_ptr<Clip> pictures_;
  const std::shared_ptr<const Truths> truths_;
  std::size_t next_ = 0;
};

}  // namespace

TrueFlow PseudoTruthOf(std::span<const std::uint8_t> previous,
                       std::span<const std::uint8_t> current, int width, int height) {
  const auto dis = MakeReferenceFlow("dis_fine", width, height);
  MILLRACE_CHECK(dis.ok());
  const std::vector<float> dense = (*dis)->Flow(previous, current);
  const std::vector<float> dense_back = (*dis)->Flow(current, previous);
  const cv::Mat grey_before = GreyPicture(previous, width, height);
  const cv::Mat grey_now = GreyPicture(current, width, height);
  const Found local = LucasKanade(grey_before, grey_now);
  const Found local_back = LucasKanade(grey_now, grey_before);
  const std::vector<float> missed_dense = MissedBy(dense, dense_back, width, height);
  const std::vector<float> missed_local = MissedBy(local.flow, local_back.flow, width, height);
  TrueFlow truth{.width = width, .height = height};
  for (std::size_t i = 0; i < local.found.size(); ++i) {
    const float dx = local.flow[2 * i];
    const float dy = local.flow[2 * i + 1];
    const bool agree = std::hypot(dense[2 * i] - dx, dense[2 * i + 1] - dy) < kAgreement;
    const bool known = agree && local.found[i] != 0 && missed_dense[i] < kAgreement &&
                       missed_local[i] < kAgreement;
    truth.known.push_back(known ? 1 : 0);
    truth.flow.push_back(known ? (dense[2 * i] + dx) / 2 : 0);
    truth.flow.push_back(known ? (dense[2 * i + 1] + dy) / 2 : 0);
  }
  return truth;
}

absl::Status CheckPseudoTruthFits(const ClipSource& source, std::int64_t pairs) {
  constexpr std::int64_t kMaxBytes = 4'000'000'000;
  const std::int64_t each = std::int64_t{5} * source.width * source.height;
  if (pairs <= kMaxBytes / each) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the pseudo-truth of ", pairs, " pairs of ", source.width, "x", source.height, " takes ",
      each * pairs / 1'000'000'000, " GB: evaluate ", kMaxBytes / each, " pairs or fewer"));
}

absl::StatusOr<ClipSource> WithPseudoTruth(ClipSource source, const std::function<void()>& on_pair,
                                           const std::stop_token& stop) {
  MILLRACE_ASSIGN_OR_RETURN(const std::unique_ptr<Clip> clip, source.open());
  auto truths = std::make_shared<Truths>();
  for (;;) {
    if (stop.stop_requested()) return absl::CancelledError("asked to end");
    MILLRACE_ASSIGN_OR_RETURN(const std::optional<ClipPair> pair, clip->Next());
    if (!pair) break;
    truths->emplace_back(
        PseudoTruthOf(*pair->previous, *pair->current, source.width, source.height));
    if (on_pair) on_pair();
  }
  source.open = [open = std::move(source.open), truths]() -> absl::StatusOr<std::unique_ptr<Clip>> {
    MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<Clip> pictures, open());
    return std::make_unique<Reading>(std::move(pictures), truths);
  };
  return source;
}

}  // namespace millrace::pipeline
