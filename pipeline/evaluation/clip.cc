#include "pipeline/evaluation/clip.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

class ShortReading final : public Clip {
 public:
  ShortReading(std::unique_ptr<Clip> whole, std::int64_t pairs)
      : whole_(std::move(whole)), left_(pairs) {}

  absl::StatusOr<std::optional<ClipPair>> Next() override {
    if (left_ == 0) return std::nullopt;
    --left_;
    return whole_->Next();
  }

 private:
  const std::unique_ptr<Clip> whole_;
  std::int64_t left_;
};

class PartReading final : public Clip {
 public:
  PartReading(std::unique_ptr<Clip> whole, std::chrono::nanoseconds length)
      : whole_(std::move(whole)), length_(length) {}

  absl::StatusOr<std::optional<ClipPair>> Next() override {
    if (ended_) return std::nullopt;
    MILLRACE_ASSIGN_OR_RETURN(std::optional<ClipPair> pair, whole_->Next());
    if (pair) {
      if (!end_) end_ = pair->stream_time + length_;
      if (pair->stream_time < *end_) return pair;
    }
    ended_ = true;
    return std::nullopt;
  }

 private:
  const std::unique_ptr<Clip> whole_;
  const std::chrono::nanoseconds length_;
  std::optional<std::chrono::nanoseconds> end_;
  bool ended_ = false;
};

bool SamePicture(const Rgb& a, const Rgb& b) { return a == b || *a == *b; }

class ThreesReading final : public Clip {
 public:
  explicit ThreesReading(std::unique_ptr<Clip> pairs) : pairs_(std::move(pairs)) {}

  absl::StatusOr<std::optional<ClipPair>> Next() override {
    for (;;) {
      MILLRACE_ASSIGN_OR_RETURN(std::optional<ClipPair> pair, pairs_->Next());
      if (!pair) return std::nullopt;
      const ClipPair last = std::exchange(last_, *pair);
      if (last.current == nullptr || !SamePicture(last.current, pair->previous)) continue;
      pair->before = last.previous;
      pair->number = next_++;
      return pair;
    }
  }

 private:
  const std::unique_ptr<Clip> pairs_;
  ClipPair last_;
  std::int64_t next_ = 0;
};

}  // namespace

absl::Status NoPairs(const ClipSource& source) {
  if (source.with_before) {
    return absl::InvalidArgumentError(absl::StrCat(
        source.name, " has no three pictures one after the other, which the next frame needs"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(source.name, " has no pair of pictures: it needs two pictures at least"));
}

ClipSource FirstPairs(ClipSource source, std::int64_t pairs) {
  if (pairs == 0) return source;
  source.open = [open = std::move(source.open), pairs]() -> absl::StatusOr<std::unique_ptr<Clip>> {
    MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<Clip> whole, open());
    return std::make_unique<ShortReading>(std::move(whole), pairs);
  };
  return source;
}

ClipSource FirstPart(ClipSource source, std::chrono::nanoseconds length) {
  source.open = [open = std::move(source.open), length]() -> absl::StatusOr<std::unique_ptr<Clip>> {
    MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<Clip> whole, open());
    return std::make_unique<PartReading>(std::move(whole), length);
  };
  return source;
}

ClipSource WithPictureBefore(ClipSource source) {
  source.open = [open = std::move(source.open)]() -> absl::StatusOr<std::unique_ptr<Clip>> {
    MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<Clip> pairs, open());
    return std::make_unique<ThreesReading>(std::move(pairs));
  };
  source.with_before = true;
  return source;
}

}  // namespace millrace::pipeline
