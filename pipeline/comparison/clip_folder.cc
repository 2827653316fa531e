#include "pipeline/comparison/clip_folder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/plural.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "pipeline/comparison/flow_files.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;

using Files = std::vector<fs::path>;

absl::StatusOr<Files> FilesOf(const std::string& folder, const std::set<std::string>& endings) {
  Files files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!endings.contains(absl::AsciiStrToLower(entry.path().extension().string()))) continue;
    std::error_code unreadable;
    if (!entry.is_directory(unreadable)) files.push_back(entry.path());
  }
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": it cannot be read as a folder: ", error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

const std::set<std::string>& PictureEndings() {
  static const std::set<std::string> endings = {".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".bmp"};
  return endings;
}

// The file of each pair, if any.
using FileOfPair = std::vector<std::optional<fs::path>>;

// The files of the pairs: one for each pair, in order, or those named like a pair's first picture.
absl::StatusOr<FileOfPair> ForPairs(const Files& pictures, const std::string& folder,
                                    const std::set<std::string>& endings) {
  FileOfPair of_pair(pictures.size() - 1);
  if (folder.empty()) return of_pair;
  MILLRACE_ASSIGN_OR_RETURN(const Files files, FilesOf(folder, endings));
  std::map<std::string, fs::path> by_name;
  for (const fs::path& file : files) by_name.emplace(file.stem().string(), file);
  std::size_t named = 0;
  for (std::size_t i = 0; i < of_pair.size(); ++i) {
    const auto found = by_name.find(pictures[i].stem().string());
    if (found == by_name.end()) continue;
    of_pair[i] = found->second;
    ++named;
  }
  if (named > 0) return of_pair;
  if (files.size() != of_pair.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder, " has ", Plural(files.size(), "file"), " for ", Plural(of_pair.size(), "pair"),
        " of pictures, and no file has the name of a picture. Give one for each pair, or name "
        "each as the first picture of its pair"));
  }
  for (std::size_t i = 0; i < of_pair.size(); ++i) of_pair[i] = files[i];
  return of_pair;
}

absl::StatusOr<cv::Mat> ReadPicture(const fs::path& path) {
  constexpr std::uint64_t kMaxBytes = 256 << 20;
  MILLRACE_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path.string(), kMaxBytes));
  cv::Mat picture;
  try {
    const cv::Mat content(1, static_cast<int>(bytes.size()), CV_8U, bytes.data());
    picture = cv::imdecode(content, cv::IMREAD_COLOR);
  } catch (const cv::Exception&) {  // Such as a picture of an impossible size.
  }
  if (!picture.empty()) return picture;
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(), ": it cannot be read as a picture; remove or replace it"));
}

struct Folder {
  ImageFolderOptions options;
  Files pictures;
  FileOfPair truth;
  FileOfPair hidden;
};

class FolderClip final : public Clip {
 public:
  explicit FolderClip(std::shared_ptr<const Folder> folder) : folder_(std::move(folder)) {}

  absl::StatusOr<std::optional<ClipPair>> Next() override {
    if (previous_ == nullptr) {
      MILLRACE_ASSIGN_OR_RETURN(previous_, ReadScaled(0));
    }
    if (next_ == folder_->truth.size()) return std::nullopt;
    const std::size_t pair = next_++;
    MILLRACE_ASSIGN_OR_RETURN(Rgb current, ReadScaled(pair + 1));
    MILLRACE_ASSIGN_OR_RETURN(std::shared_ptr<const TrueFlow> truth, TruthOf(pair));
    const std::chrono::duration<double> time(static_cast<double>(pair + 1) /
                                             folder_->options.frames_per_second);
    return ClipPair{.number = static_cast<std::int64_t>(pair),
                    .stream_time = std::chrono::round<std::chrono::nanoseconds>(time),
                    .previous = std::exchange(previous_, current),
                    .current = current,
                    .truth = std::move(truth)};
  }

 private:
  absl::StatusOr<Rgb> ReadScaled(std::size_t number) const {
    MILLRACE_ASSIGN_OR_RETURN(cv::Mat picture, ReadPicture(folder_->pictures[number]));
    const cv::Size size(folder_->options.width, folder_->options.height);
    if (picture.size() != size) {
      const bool smaller = size.area() < picture.size().area();
      cv::resize(picture, picture, size, 0, 0, smaller ? cv::INTER_AREA : cv::INTER_LINEAR);
    }
    cv::cvtColor(picture, picture, cv::COLOR_BGR2RGB);
    return std::make_shared<const std::vector<std::uint8_t>>(picture.data,
                                                             picture.data + picture.total() * 3);
  }

  absl::StatusOr<std::shared_ptr<const TrueFlow>> TruthOf(std::size_t pair) const {
    const auto& truth_file = folder_->truth[pair];
    if (!truth_file) return nullptr;
    MILLRACE_ASSIGN_OR_RETURN(TrueFlow truth, ReadTrueFlow(truth_file->string()));
    if (const auto& hidden_file = folder_->hidden[pair]) {
      MILLRACE_ASSIGN_OR_RETURN(const cv::Mat hidden, ReadPicture(*hidden_file));
      if (hidden.cols != truth.width || hidden.rows != truth.height) {
        return absl::InvalidArgumentError(absl::StrCat(hidden_file->string(), " is ", hidden.cols,
                                                       "x", hidden.rows, "; its true motion is ",
                                                       truth.width, "x", truth.height));
      }
      for (int y = 0; y < hidden.rows; ++y) {
        for (int x = 0; x < hidden.cols; ++x) {
          truth.visible.push_back(hidden.at<cv::Vec3b>(y, x) == cv::Vec3b() ? 1 : 0);
        }
      }
    }
    return std::make_shared<const TrueFlow>(std::move(truth));
  }

  const std::shared_ptr<const Folder> folder_;  // Shared by all readers; immutable.
  Rgb previous_;
  std::size_t next_ = 0;
};

}  // namespace

absl::StatusOr<ClipSource> ImageFolder(const ImageFolderOptions& options) {
  if (!options.hidden.empty() && options.truth.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.hidden,
        ": what is hidden says something only beside the true motion; give that, too"));
  }
  Folder folder{.options = options, .pictures = {}, .truth = {}, .hidden = {}};
  MILLRACE_ASSIGN_OR_RETURN(folder.pictures, FilesOf(options.pictures, PictureEndings()));
  if (folder.pictures.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.pictures, " has ", folder.pictures.size(),
        " pictures (.png, .jpg, .jpeg, .ppm, .pgm or .bmp); motion needs two at least"));
  }
  MILLRACE_ASSIGN_OR_RETURN(folder.truth,
                            ForPairs(folder.pictures, options.truth, {".flo", ".png"}));
  MILLRACE_ASSIGN_OR_RETURN(folder.hidden,
                            ForPairs(folder.pictures, options.hidden, PictureEndings()));
  ClipSource source{.name = fs::path(options.pictures).lexically_normal().filename().string(),
                    .width = options.width,
                    .height = options.height,
                    .open = {}};
  if (source.name.empty()) source.name = options.pictures;
  source.open = [shared = std::make_shared<const Folder>(std::move(folder))]()
      -> absl::StatusOr<std::unique_ptr<Clip>> { return std::make_unique<FolderClip>(shared); };
  return source;
}

}  // namespace millrace::pipeline
