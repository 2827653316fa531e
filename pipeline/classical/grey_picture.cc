#include "pipeline/classical/grey_picture.h"

#include <opencv2/imgproc.hpp>

namespace millrace::pipeline {

cv::Mat GreyPicture(std::span<const std::uint8_t> rgb, int width, int height) {
  // OpenCV requires writable bytes, but only reads them here.
  const cv::Mat colours(height, width, CV_8UC3, const_cast<std::uint8_t*>(rgb.data()));
  cv::Mat grey;
  cv::cvtColor(colours, grey, cv::COLOR_RGB2GRAY);
  return grey;
}

}  // namespace millrace::pipeline
