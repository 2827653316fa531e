#include "ingest/gst/gst_sample.h"

#include <gst/video/video.h>

#include <cstring>
#include <memory>
#include <utility>

#include "ingest/gst/gst_handles.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

/// From the NTP epoch, 1900, to the Unix epoch, 1970.
constexpr nanoseconds kNtpToUnix = std::chrono::seconds(2'208'988'800);

/// A buffer mapped as a video frame for reading, for the lifetime of a scope.
class MappedFrame {
 public:
  MappedFrame(const GstVideoInfo& info, GstBuffer* buffer)
      : mapped_(gst_video_frame_map(&frame_, &info, buffer, GST_MAP_READ)) {}
  ~MappedFrame() {
    if (mapped_) gst_video_frame_unmap(&frame_);
  }

  MappedFrame(const MappedFrame&) = delete;
  MappedFrame& operator=(const MappedFrame&) = delete;

  [[nodiscard]] bool mapped() const { return mapped_; }
  [[nodiscard]] const GstVideoFrame* get() const { return &frame_; }

 private:
  GstVideoFrame frame_;
  const bool mapped_;
};

/// REQUIRES: the frame is at least as large as `grid`.
std::shared_ptr<const Picture> CopyMiddle(const GstVideoFrame* frame, const Extent& grid) {
  auto picture = std::make_shared<Picture>();
  picture->width = grid.width;
  picture->height = grid.height;
  const std::size_t row_bytes = static_cast<std::size_t>(picture->width) * 3;
  const auto stride = static_cast<std::size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0));
  const auto left = static_cast<std::size_t>(GST_VIDEO_FRAME_WIDTH(frame) - grid.width) / 2;
  const auto top = static_cast<std::size_t>(GST_VIDEO_FRAME_HEIGHT(frame) - grid.height) / 2;
  const auto* from = static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(frame, 0)) +
                     top * stride + left * 3;
  picture->rgb.reserve(row_bytes * static_cast<std::size_t>(picture->height));
  for (int row = 0; row < picture->height; ++row, from += stride) {
    picture->rgb.insert(picture->rgb.end(), from, from + row_bytes);
  }
  return picture;
}

std::optional<nanoseconds> TimeOrNothing(GstClockTime time) {
  if (!GST_CLOCK_TIME_IS_VALID(time)) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(time));
}

/// The time of exposure by the camera's NTP clock; nullopt if the camera does not send it.
std::optional<nanoseconds> CameraTime(GstBuffer* buffer) {
  static GstCaps* const ntp = gst_caps_new_empty_simple("timestamp/x-ntp");
  const auto* meta = gst_buffer_get_reference_timestamp_meta(buffer, ntp);
  if (meta == nullptr) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(meta->timestamp)) - kNtpToUnix;
}

}  // namespace

std::optional<DecodedPicture> PictureFromSample(GstSample& sample, const Extent& grid) {
  GstVideoInfo info;
  GstBuffer* const buffer = gst_sample_get_buffer(&sample);
  GstCaps* const caps = gst_sample_get_caps(&sample);
  if (buffer == nullptr || caps == nullptr || !gst_video_info_from_caps(&info, caps)) {
    return std::nullopt;
  }
  const MappedFrame frame(info, buffer);
  if (!frame.mapped() || info.width < grid.width || info.height < grid.height) return std::nullopt;
  return DecodedPicture{.picture = CopyMiddle(frame.get(), grid),
                        .stream_time = TimeOrNothing(GST_BUFFER_PTS(buffer)),
                        .duration = TimeOrNothing(GST_BUFFER_DURATION(buffer)),
                        .camera_time = CameraTime(buffer)};
}

}  // namespace millrace::ingest
