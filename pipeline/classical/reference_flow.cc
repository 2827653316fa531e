#include "pipeline/classical/reference_flow.h"

#include <cstddef>
#include <utility>

#include <opencv2/core.hpp>
#include <opencv2/video/tracking.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pipeline/classical/dis_flow.h"
#include "pipeline/classical/grey_picture.h"

namespace millrace::pipeline {
namespace {

class NoMotion final : public ReferenceFlow {
 public:
  NoMotion(int width, int height) : values_(std::size_t{2} * width * height) {}

  std::vector<float> Flow(std::span<const std::uint8_t> /*previous*/,
                          std::span<const std::uint8_t> /*current*/) override {
    return std::vector<float>(values_);
  }

 private:
  const std::size_t values_;
};

class OpenCvFlow final : public ReferenceFlow {
 public:
  OpenCvFlow(cv::Ptr<cv::DenseOpticalFlow> method, int width, int height)
      : method_(std::move(method)), width_(width), height_(height) {}

  std::vector<float> Flow(std::span<const std::uint8_t> previous,
                          std::span<const std::uint8_t> current) override {
    cv::Mat flow;
    method_->calc(GreyPicture(previous, width_, height_), GreyPicture(current, width_, height_),
                  flow);
    return {flow.ptr<float>(0), flow.ptr<float>(0) + flow.total() * 2};
  }

 private:
  const cv::Ptr<cv::DenseOpticalFlow> method_;
  const int width_;
  const int height_;
};

cv::Ptr<cv::DenseOpticalFlow> OpenCvMethod(std::string_view name) {
  if (name == "dis") return cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_MEDIUM);
  if (name == "dis_fine") {
    return MakeDisFlow({.refinement_steps = 30, .smoothness = 40});
  }
  if (name == "prior") return MakeDisFlow(kPriorSettings);
  if (name == "dis_fast") return cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_FAST);
  if (name == "dis_ultrafast") {
    return cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_ULTRAFAST);
  }
  if (name == "farneback") {
    return cv::FarnebackOpticalFlow::create(/*numLevels=*/3, /*pyrScale=*/0.5,
                                            /*fastPyramids=*/false, /*winSize=*/15,
                                            /*numIters=*/3, /*polyN=*/5, /*polySigma=*/1.2);
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReferenceFlow>> MakeReferenceFlow(std::string_view name, int width,
                                                                 int height) {
  if (name == "none") return std::make_unique<NoMotion>(width, height);
  cv::Ptr<cv::DenseOpticalFlow> method = OpenCvMethod(name);
  if (method == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("there is no reference '", std::string(name),
                                                   "'; use one of ",
                                                   absl::StrJoin(ReferenceFlowNames(), ", ")));
  }
  return std::make_unique<OpenCvFlow>(std::move(method), width, height);
}

}  // namespace millrace::pipeline
