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

}  // namespace

absl::Status NoPairs(const ClipSource& source) {
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

}  // namespace millrace::pipeline
