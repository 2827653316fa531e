#include "pipeline/data/whole_file.h"

#include <fcntl.h>
#include <zlib.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/regular_file.h"

namespace millrace::pipeline {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
constexpr unsigned kChunkBytes = 1U << 20;

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzFile = std::unique_ptr<gzFile_s, CloseGz>;

absl::Status Unreadable(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(path, " cannot be read: ", why));
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  const absl::StatusOr<RegularFile> opened = RegularFile::Open(path);
  if (absl::IsNotFound(opened.status())) {
    return absl::NotFoundError(absl::StrCat("there is no file ", path));
  }
  if (!opened.ok()) return Unreadable(path, std::string(opened.status().message()));
  const GzFile file(gzdopen(fcntl(opened->descriptor(), F_DUPFD_CLOEXEC, 0), "rb"));
  if (file == nullptr) return Unreadable(path, "it cannot be opened");
  std::string content;
  while (true) {
    const std::size_t before = content.size();
    content.resize(before + kChunkBytes);
    const int read = gzread(file.get(), content.data() + before, kChunkBytes);
    content.resize(before + (read > 0 ? static_cast<std::size_t>(read) : 0));
    if (content.size() > kMaxBytes) return Unreadable(path, "it holds more than 1 GiB");
    if (read <= 0) break;
  }
  // A truncated file is detected only here.
  int code = Z_OK;
  const char* const message = gzerror(file.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END) return Unreadable(path, message);
  return content;
}

}  // namespace millrace::pipeline
