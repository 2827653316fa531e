#include "ingest/pictures/picture_maker.h"

#include <gst/video/video.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ingest/frame/grid.h"
#include "ingest/gst/gstreamer.h"
#include "ingest/pictures/image_decoder.h"

namespace millrace::ingest {
namespace {

/// An RGB picture as a GStreamer frame without row padding.
class PackedFrame {
 public:
  PackedFrame(int width, int height, std::vector<std::uint8_t>& rgb) {
    gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_RGB, static_cast<guint>(width),
                              static_cast<guint>(height));
    info_.stride[0] = width * 3;
    info_.size = rgb.size();
    GstBuffer* const buffer = gst_buffer_new_wrapped_full(GstMemoryFlags(0), rgb.data(), rgb.size(),
                                                          0, rgb.size(), nullptr, nullptr);
    mapped_ = gst_video_frame_map(&frame_, &info_, buffer, GST_MAP_READWRITE) != FALSE;
    gst_buffer_unref(buffer);  // The mapped frame holds a reference.
  }
  ~PackedFrame() {
    if (mapped_) gst_video_frame_unmap(&frame_);
  }
  PackedFrame(const PackedFrame&) = delete;
  PackedFrame& operator=(const PackedFrame&) = delete;

  [[nodiscard]] bool mapped() const { return mapped_; }
  [[nodiscard]] GstVideoInfo* info() { return &info_; }
  [[nodiscard]] GstVideoFrame* frame() { return &frame_; }

 private:
  GstVideoInfo info_ = {};
  GstVideoFrame frame_ = {};
  bool mapped_ = false;
};

/// The same method as `videoscale` for cameras.
GstStructure* ScaledAsCameras() {
  return gst_structure_new("options", GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD,
                           GST_TYPE_VIDEO_RESAMPLER_METHOD, GST_VIDEO_RESAMPLER_METHOD_LINEAR,
                           GST_VIDEO_RESAMPLER_OPT_MAX_TAPS, G_TYPE_INT, 2, nullptr);
}

/// The middle of `picture`. REQUIRES: `picture` is at least as large as `grid`.
std::shared_ptr<const Picture> MiddleOf(std::shared_ptr<const Picture> picture,
                                        const Extent& grid) {
  if (picture->width == grid.width && picture->height == grid.height) return picture;
  auto middle = std::make_shared<Picture>();
  middle->width = grid.width;
  middle->height = grid.height;
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * picture->width;
  const std::ptrdiff_t left = (picture->width - grid.width) / 2;
  const std::ptrdiff_t top = (picture->height - grid.height) / 2;
  auto from = picture->rgb.begin() + top * stride + left * 3;
  for (int row = 0; row < grid.height; ++row, from += stride) {
    middle->rgb.insert(middle->rgb.end(), from, from + std::ptrdiff_t{3} * grid.width);
  }
  return middle;
}

/// Scales `from` to cover `grid`, and crops it.
absl::StatusOr<std::shared_ptr<const Picture>> Scaled(Picture& from, const Extent& grid) {
  InitializeGStreamer();
  const Extent covering = CoveringSize({.width = from.width, .height = from.height}, grid);
  auto to = std::make_shared<Picture>();
  to->width = covering.width;
  to->height = covering.height;
  to->rgb.resize(std::size_t{3} * covering.width * covering.height);
  PackedFrame in(from.width, from.height, from.rgb);
  PackedFrame out(covering.width, covering.height, to->rgb);
  if (!in.mapped() || !out.mapped()) return absl::InternalError("a picture could not be mapped");
  GstVideoConverter* const converter =
      gst_video_converter_new(in.info(), out.info(), ScaledAsCameras());
  if (converter == nullptr) return absl::InternalError("a picture could not be scaled");
  gst_video_converter_frame(converter, in.frame(), out.frame());
  gst_video_converter_free(converter);
  return MiddleOf(std::move(to), grid);
}

}  // namespace

absl::StatusOr<MadePicture> PictureMaker::FromPixels(const RawPicture& raw) const {
  MILLRACE_RETURN_IF_ERROR(CheckRawPicture(raw));
  std::shared_ptr<Picture> packed = Packed(raw);
  MadePicture made = {.picture = packed, .own_width = raw.width, .own_height = raw.height};
  if (raw.width == width_ && raw.height == height_) return made;
  MILLRACE_ASSIGN_OR_RETURN(made.picture, Scaled(*packed, {.width = width_, .height = height_}));
  return made;
}

absl::StatusOr<MadePicture> PictureMaker::FromImage(std::span<const std::uint8_t> bytes) const {
  MILLRACE_ASSIGN_OR_RETURN(const DecodedImage image, DecodeImage(bytes));
  Picture& whole = *image.picture;
  MadePicture made = {
      .picture = image.picture, .own_width = whole.width, .own_height = whole.height};
  if (whole.width == width_ && whole.height == height_) return made;
  MILLRACE_ASSIGN_OR_RETURN(made.picture, Scaled(whole, {.width = width_, .height = height_}));
  return made;
}

absl::StatusOr<MadePicture> PictureMaker::From(const PictureContent& content) const {
  const auto* const raw = std::get_if<RawPicture>(&content);
  if (raw != nullptr) return FromPixels(*raw);
  return FromImage(std::get<std::span<const std::uint8_t>>(content));
}

}  // namespace millrace::ingest
