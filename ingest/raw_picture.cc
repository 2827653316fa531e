#include "ingest/raw_picture.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::ingest {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 8> kPngBegin = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::array<std::uint8_t, 4> kPngEnd = {'I', 'E', 'N', 'D'};
constexpr std::array<std::uint8_t, 2> kJpegEnd = {0xff, 0xd9};

bool Begins(Bytes bytes, Bytes with) {
  return bytes.size() >= with.size() && std::ranges::equal(bytes.first(with.size()), with);
}

bool Holds(Bytes bytes, Bytes what) { return !std::ranges::search(bytes, what).empty(); }

int BigEndian16(Bytes bytes, std::size_t at) { return bytes[at] << 8 | bytes[at + 1]; }

absl::Status CutShort(std::string_view format) {
  return absl::InvalidArgumentError(
      absl::StrCat("this ", std::string(format), " image is cut short"));
}

absl::Status CheckSize(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the picture is ", width, " x ", height, "; it must have pixels"));
  }
  if (width <= kMostPixelsPerSide && height <= kMostPixelsPerSide && width * height <= kMostPixels)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the picture is ", width, " x ", height, "; it must be at most ", kMostPixelsPerSide,
      " pixels wide and high, and have at most ", kMostPixels, " of them"));
}

/// Whether a JPEG's segment says the size: any "start of frame".
bool SaysSize(int marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/// Of the segment that says the size: its length, a byte for the precision, height and width.
absl::StatusOr<ImageHeader> JpegHeader(Bytes bytes) {
  std::size_t at = 2;
  while (at + 9 <= bytes.size() && bytes[at] == 0xff) {
    const int marker = bytes[at + 1];
    if (marker == 0xff) {  // Fills.
      ++at;
      continue;
    }
    if (SaysSize(marker)) {
      return ImageHeader{.format = ImageFormat::kJpeg,
                         .width = BigEndian16(bytes, at + 7),
                         .height = BigEndian16(bytes, at + 5)};
    }
    at += 2 + static_cast<std::size_t>(BigEndian16(bytes, at + 2));
  }
  return absl::InvalidArgumentError("this JPEG image does not say its size: it is damaged");
}

absl::StatusOr<ImageHeader> PngHeader(Bytes bytes) {
  constexpr std::size_t kSize = 16;  // Behind the signature, and the length and name of the header.
  if (bytes.size() < kSize + 8) return CutShort("PNG");
  // Beyond 16 bits it is too large in any case.
  const auto number = [&](std::size_t at) {
    return BigEndian16(bytes, at) > 0 ? kMostPixelsPerSide + 1 : BigEndian16(bytes, at + 2);
  };
  return ImageHeader{
      .format = ImageFormat::kPng, .width = number(kSize), .height = number(kSize + 4)};
}

}  // namespace

absl::Status CheckRawPicture(const RawPicture& picture) {
  MILLRACE_RETURN_IF_ERROR(CheckSize(picture.width, picture.height));
  if (picture.Stride() < picture.RowBytes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the stride is ", picture.stride, " bytes, and a row of ", picture.width, " pixels has ",
        picture.RowBytes(), "; leave it out where there is no padding"));
  }
  const std::int64_t whole = picture.Stride() * picture.height;
  const std::int64_t least = whole - picture.Stride() + picture.RowBytes();
  const auto bytes = static_cast<std::int64_t>(picture.bytes.size());
  if (least <= bytes && bytes <= whole) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the picture has ", bytes, " bytes; ", picture.width, " x ", picture.height, " pixels of ",
      BytesPerPixel(picture.format), " and a stride of ", picture.Stride(), " make ", whole));
}

absl::StatusOr<ImageHeader> ReadImageHeader(Bytes bytes) {
  constexpr std::array<std::uint8_t, 3> kJpegBegin = {0xff, 0xd8, 0xff};
  const bool jpeg = Begins(bytes, kJpegBegin);
  if (!jpeg && !Begins(bytes, kPngBegin)) {
    return absl::InvalidArgumentError("this is neither a JPEG nor a PNG image");
  }
  MILLRACE_ASSIGN_OR_RETURN(const ImageHeader header, jpeg ? JpegHeader(bytes) : PngHeader(bytes));
  MILLRACE_RETURN_IF_ERROR(CheckSize(header.width, header.height));
  // Somebody may have written something behind it.
  const bool whole = jpeg ? Holds(bytes, kJpegEnd) : Holds(bytes, kPngEnd);
  return whole ? absl::StatusOr<ImageHeader>(header) : CutShort(jpeg ? "JPEG" : "PNG");
}

}  // namespace millrace::ingest
