#include "pipeline/classical/prior_flow.h"

#include <cstddef>
#include <mutex>

#include <opencv2/core.hpp>
#include <opencv2/core/utility.hpp>

#include "base/check.h"
#include "pipeline/classical/dis_flow.h"

namespace millrace::pipeline {
namespace {

void ToBytes(std::span<const float> plane, cv::Mat& bytes) {
  // OpenCV requires writable values, but only reads them here.
  const cv::Mat values(bytes.size(), CV_32F, const_cast<float*>(plane.data()));
  values.convertTo(bytes, CV_8U, 255);
}

}  // namespace

struct PriorFlow::Buffers {
  cv::Ptr<cv::DISOpticalFlow> method;
  cv::Mat previous;
  cv::Mat current;
  cv::Mat flow;
};

PriorFlow::PriorFlow(int width, int height)
    : buffers_(std::make_unique<Buffers>(Buffers{.method = MakeDisFlow(kPriorSettings),
                                                 .previous = cv::Mat(height, width, CV_8U),
                                                 .current = cv::Mat(height, width, CV_8U),
                                                 .flow = cv::Mat()})) {
  SetThreads(1);
}

// Once: OpenCV cannot change it while another thread computes.
void PriorFlow::SetThreads(int threads) {
  static std::once_flag once;
  std::call_once(once, [threads] { cv::setNumThreads(threads); });
}

PriorFlow::~PriorFlow() = default;
PriorFlow::PriorFlow(PriorFlow&&) noexcept = default;
PriorFlow& PriorFlow::operator=(PriorFlow&&) noexcept = default;

void PriorFlow::Compute(std::span<const float> previous, std::span<const float> current,
                        std::span<float> flow) {
  Buffers& own = *buffers_;
  const std::size_t pixels = own.previous.total();
  MILLRACE_CHECK(previous.size() == pixels && current.size() == pixels);
  MILLRACE_CHECK(flow.size() == 2 * pixels);
  ToBytes(previous, own.previous);
  ToBytes(current, own.current);
  own.flow.release();  // Otherwise DIS would begin from the last pair's flow.
  own.method->calc(own.previous, own.current, own.flow);
  cv::Mat planes[] = {cv::Mat(own.previous.size(), CV_32F, flow.data()),
                      cv::Mat(own.previous.size(), CV_32F, flow.data() + pixels)};
  cv::split(own.flow, planes);
}

}  // namespace millrace::pipeline
