#include "ingest/frame/image_header.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ingest/frame/raw_picture.h"

namespace millrace::ingest {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 3> kJpegBegin = {0xff, 0xd8, 0xff};
constexpr std::array<std::uint8_t, 8> kPngBegin = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

bool Begins(Bytes bytes, Bytes with) {
  return bytes.size() >= with.size() && std::ranges::equal(bytes.first(with.size()), with);
}

int BigEndian16(Bytes bytes, std::size_t at) { return bytes[at] << 8 | bytes[at + 1]; }

std::uint32_t BigEndian32(Bytes bytes, std::size_t at) {
  return static_cast<std::uint32_t>(BigEndian16(bytes, at)) << 16 |
         static_cast<std::uint32_t>(BigEndian16(bytes, at + 2));
}

absl::Status CutShort(std::string_view format) {
  return absl::InvalidArgumentError(
      absl::StrCat("this ", std::string(format), " image is cut short"));
}

absl::Status Damaged(std::string_view what, std::string_view format = "JPEG") {
  return absl::InvalidArgumentError(
      absl::StrCat("this ", std::string(format), " image ", std::string(what), ": it is damaged"));
}

// JPEG markers: the second byte, after 0xff.
constexpr int kFill = 0xff;
constexpr int kEnd = 0xd9;
constexpr int kScan = 0xda;

bool IsRestart(int marker) { return marker >= 0xd0 && marker <= 0xd7; }
/// Any "start of frame" marker.
bool SaysSize(int marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/// Whether a marker begins a segment, which contains its own length. After any other marker, a
/// decoder continues with the next byte.
bool BeginsSegment(int marker) {
  const bool application = marker >= 0xe0 && marker <= 0xef;
  const bool tables = marker == 0xc4 || marker == 0xcc || (marker >= 0xdb && marker <= 0xdd);
  constexpr int kComment = 0xfe;
  return SaysSize(marker) || tables || marker == kScan || application || marker == kComment;
}

/// The position of the first marker after the coded data that begins at `at`. The end if no marker
/// follows.
std::size_t BehindScan(Bytes bytes, std::size_t at) {
  for (; at + 1 < bytes.size(); ++at) {
    const int next = bytes[at + 1];
    if (bytes[at] == 0xff && next != 0 && next != kFill && !IsRestart(next)) return at;
  }
  return bytes.size();
}

/// Goes from marker to marker by the lengths of the segments.
absl::StatusOr<ImageHeader> JpegHeader(Bytes bytes) {
  ImageHeader header{.format = ImageFormat::kJpeg};
  std::size_t at = 2;
  while (at + 2 <= bytes.size()) {
    if (bytes[at] != 0xff) return Damaged("has something between its segments");
    const int marker = bytes[at + 1];
    if (marker == kFill) {
      ++at;
      continue;
    }
    if (marker == kEnd) {
      header.bytes = at + 2;
      return header.width > 0 ? absl::StatusOr<ImageHeader>(header)
                              : Damaged("does not say its size");
    }
    if (!BeginsSegment(marker)) return Damaged("has a marker where none belongs");
    if (at + 4 > bytes.size()) break;
    const auto length = static_cast<std::size_t>(BigEndian16(bytes, at + 2));
    if (length < 2) return Damaged("has a segment without a length");
    if (SaysSize(marker)) {
      if (at + 9 > bytes.size()) break;
      if (header.width > 0) return Damaged("says its size twice");
      header.width = BigEndian16(bytes, at + 7);
      header.height = BigEndian16(bytes, at + 5);
      MILLRACE_RETURN_IF_ERROR(CheckPictureSize(header.width, header.height));
    }
    at += 2 + length;
    if (marker == kScan) at = BehindScan(bytes, at);
  }
  return CutShort("JPEG");
}

std::string_view ChunkName(Bytes bytes, std::size_t at) {
  return {reinterpret_cast<const char*>(&bytes[at + 4]), 4};
}

/// Goes from chunk to chunk: a length, a name, the data and a checksum. The size must be in the
/// first chunk, because a decoder accepts any chunk of that name.
absl::StatusOr<ImageHeader> PngHeader(Bytes bytes) {
  constexpr std::size_t kFirst = kPngBegin.size();
  constexpr std::size_t kSize = kFirst + 8;  // After the first chunk's length and name.
  constexpr std::size_t kHeaderLength = 13;
  constexpr std::size_t kAroundChunk = 12;
  if (bytes.size() < kSize + 8) return CutShort("PNG");
  if (BigEndian32(bytes, kFirst) != kHeaderLength || ChunkName(bytes, kFirst) != "IHDR") {
    return Damaged("does not begin with its header", "PNG");
  }
  const std::uint32_t width = BigEndian32(bytes, kSize);
  const std::uint32_t height = BigEndian32(bytes, kSize + 4);
  MILLRACE_RETURN_IF_ERROR(CheckPictureSize(width, height));
  ImageHeader header{.format = ImageFormat::kPng,
                     .width = static_cast<int>(width),
                     .height = static_cast<int>(height)};
  for (std::size_t at = kFirst; at + kAroundChunk <= bytes.size();) {
    const std::size_t length = BigEndian32(bytes, at);
    const std::string_view name = ChunkName(bytes, at);
    if (name == "IHDR" && at > kFirst) return Damaged("says its size twice", "PNG");
    at += kAroundChunk + length;
    if (name != "IEND" || at > bytes.size()) continue;
    header.bytes = at;
    return header;
  }
  return CutShort("PNG");
}

}  // namespace

absl::StatusOr<ImageHeader> ReadImageHeader(Bytes bytes) {
  if (Begins(bytes, kJpegBegin)) return JpegHeader(bytes);
  if (Begins(bytes, kPngBegin)) return PngHeader(bytes);
  return absl::InvalidArgumentError("this is neither a JPEG nor a PNG image");
}

}  // namespace millrace::ingest
