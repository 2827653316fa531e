// Messages of a camera's process: read within bounds or refused, and the same if written again.
#include <string>
#include <variant>

#include "ingest/isolation/messages.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::ingest;

namespace {

constexpr std::uint32_t kSlots = 2;

bool IsText(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

void Judge(const CameraFormat& format) {
  Require(format.shown().width > 0 && format.shown().height > 0, "a format has a size");
  Require(format.frames_per_second >= 0, "a rate is not negative");
}
void Judge(const PictureInSlot& picture) {
  Require(picture.slot < kSlots, "a slot exists");
  if (picture.stream_time) Require(picture.stream_time->count() >= 0, "a time is not negative");
}
void Judge(const PipelineCodec& codec) { Require(IsText(codec.name), "a codec's name is text"); }
void Judge(const LogLine& line) { Require(IsText(line.text), "a line is text"); }
void Judge(const ProcessEnded& ended) { (void)WhyEnded(ended); }
template <typename T>
void Judge(const T& said) {
  const absl::string_view text = said.status.message();
  Require(IsText({text.data(), text.size()}), "a status has text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const absl::StatusOr<FromCamera> message = Decode(TextOf(data, size), kSlots);
  if (!message.ok()) {
    Require(absl::IsInvalidArgument(message.status()), "what is refused is INVALID_ARGUMENT");
    return 0;
  }
  std::visit([](const auto& said) { Judge(said); }, *message);
  const std::string again = Encode(*message);
  const absl::StatusOr<FromCamera> read = Decode(again, kSlots);
  Require(read.ok() && Encode(*read) == again, "what is said again is the same");
  return 0;
}
