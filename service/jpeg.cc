#include "service/jpeg.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "opencv2/core.hpp"
#include "opencv2/imgcodecs.hpp"
#include "opencv2/imgproc.hpp"

namespace millrace::service {

absl::StatusOr<std::string> EncodeJpeg(std::span<const std::uint8_t> rgb, int width, int height,
                                       int quality) {
  if (width <= 0 || height <= 0 ||
      rgb.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("a picture of ", width, "x", height, " has ", rgb.size(), " bytes"));
  }
  try {
    // OpenCV's interface knows no constant pixels; it only reads these.
    const cv::Mat source(height, width, CV_8UC3, const_cast<std::uint8_t*>(rgb.data()));
    cv::Mat bgr;
    cv::cvtColor(source, bgr, cv::COLOR_RGB2BGR);
    std::vector<std::uint8_t> encoded;
    if (!cv::imencode(".jpg", bgr, encoded, {cv::IMWRITE_JPEG_QUALITY, quality})) {
      return absl::InternalError("OpenCV could not encode a JPEG");
    }
    return std::string(encoded.begin(), encoded.end());
  } catch (const cv::Exception& error) {
    return absl::InternalError(absl::StrCat("OpenCV could not encode a JPEG: ", error.what()));
  }
}

}  // namespace millrace::service
