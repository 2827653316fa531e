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

#include "base/check.h"
#include "base/status.h"
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

cv::Mat Grey(std::span<const std::uint8_t> rgb, int width, int height) {
  // OpenCV requires writable bytes, but only reads them here.
  const cv::Mat colours(height, width, CV_8UC3, const_cast<std::uint8_t*>(rgb.data()));
  cv::Mat grey;
  cv::cvtColor(colours, grey, cv::COLOR_RGB2GRAY);
  return grey;
}

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

/// The distance between a pixel and where the way there and back ends.
class Return {
 public:
  Return(const std::vector<float>& there, const std::vector<float>& back, int width, int height)
      : there_(there), back_(back), width_(width), height_(height) {}

  [[nodiscard]] float MissedBy(std::size_t pixel) const {
    const float dx = there_[2 * pixel];
    const float dy = there_[2 * pixel + 1];
    const float x = static_cast<float>(pixel % width_) + dx;
    const float y = static_cast<float>(pixel / width_) + dy;
    const bool inside = x >= 0 && y >= 0 && x <= static_cast<float>(width_ - 1) &&
                        y <= static_cast<float>(height_ - 1);
    if (!inside) return std::numeric_limits<float>::infinity();  // Nothing there to come back from.
    return std::hypot(dx + BackAt(x, y, 0), dy + BackAt(x, y, 1));
  }

 private:
  // Bilinear.
  [[nodiscard]] float BackAt(float x, float y, int side) const {
    const int left = static_cast<int>(x);
    const int top = static_cast<int>(y);
    const int right = std::min(left + 1, width_ - 1);
    const int low = std::min(top + 1, height_ - 1);
    const auto at = [&](int u, int v) {
      return back_[2 * (static_cast<std::size_t>(v) * width_ + u) + side];
    };
    const float share = x - static_cast<float>(left);
    const float above = at(left, top) + share * (at(right, top) - at(left, top));
    const float below = at(left, low) + share * (at(right, low) - at(left, low));
    return above + (y - static_cast<float>(top)) * (below - above);
  }

  const std::vector<float>& there_;
  const std::vector<float>& back_;
  int width_;
  int height_;
};

/// A truth in little memory: the vectors in 256ths of a pixel.
class PackedTruth {
 public:
  static constexpr float kUnits = 256;

  explicit PackedTruth(TrueFlow truth)
      : width_(truth.width), height_(truth.height), known_(std::move(truth.known)) {
    constexpr float kMost = std::numeric_limits<std::int16_t>::max();
    flow_.reserve(truth.flow.size());
    for (std::size_t i = 0; i < truth.flow.size(); ++i) {
      const float value = std::round(truth.flow[i] * kUnits);
      if (!(std::abs(value) <= kMost)) known_[i / 2] = 0;
      flow_.push_back(static_cast<std::int16_t>(std::clamp(value, -kMost, kMost)));
    }
  }

  [[nodiscard]] std::shared_ptr<const TrueFlow> Unpack() const {
    auto truth =
        std::make_shared<TrueFlow>(TrueFlow{.width = width_, .height = height_, .known = known_});
    truth->flow.reserve(flow_.size());
    for (const std::int16_t value : flow_) truth->flow.push_back(value / kUnits);
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
    if (pair && next_ < truths_->size()) pair->truth = (*truths_)[next_++].Unpack();
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
  const cv::Mat grey_before = Grey(previous, width, height);
  const cv::Mat grey_now = Grey(current, width, height);
  const Found local = LucasKanade(grey_before, grey_now);
  const Found local_back = LucasKanade(grey_now, grey_before);
  const Return of_dense(dense, dense_back, width, height);
  const Return of_local(local.flow, local_back.flow, width, height);
  TrueFlow truth{.width = width, .height = height};
  for (std::size_t i = 0; i < local.found.size(); ++i) {
    const float dx = local.flow[2 * i];
    const float dy = local.flow[2 * i + 1];
    const bool agree = std::hypot(dense[2 * i] - dx, dense[2 * i + 1] - dy) < kAgreement;
    const bool known = agree && local.found[i] != 0 && of_dense.MissedBy(i) < kAgreement &&
                       of_local.MissedBy(i) < kAgreement;
    truth.known.push_back(known ? 1 : 0);
    truth.flow.push_back(known ? (dense[2 * i] + dx) / 2 : 0);
    truth.flow.push_back(known ? (dense[2 * i + 1] + dy) / 2 : 0);
  }
  return truth;
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
  source.pseudo_truth = true;
  source.open = [open = std::move(source.open), truths]() -> absl::StatusOr<std::unique_ptr<Clip>> {
    MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<Clip> pictures, open());
    return std::make_unique<Reading>(std::move(pictures), truths);
  };
  return source;
}

}  // namespace millrace::pipeline
