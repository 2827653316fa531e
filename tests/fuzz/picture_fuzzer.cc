// Pictures as clients send them: to be predicted, or pushed as frames.
//
// The first byte says which.
#include <string>
#include <variant>

#include "ingest/frame/raw_picture.h"
#include "millrace/v1/frame_service.pb.h"
#include "millrace/v1/prediction_service.pb.h"
#include "service/wire/wire_picture.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::service;

namespace {

void RequireRefusal(const absl::Status& status) {
  Require(absl::IsInvalidArgument(status) && !status.message().empty(),
          "what is refused is INVALID_ARGUMENT, in words");
}

void Take(const ingest::PictureContent& content) {
  const auto* const raw = std::get_if<ingest::RawPicture>(&content);
  if (raw == nullptr) return;  // libjpeg-turbo and libpng read images.
  if (const absl::Status whole = ingest::CheckRawPicture(*raw); !whole.ok()) {
    return RequireRefusal(whole);
  }
  const auto packed = ingest::Packed(*raw);
  Require(packed->rgb.size() == std::size_t{3} * raw->width * raw->height,
          "a packed picture has three bytes a pixel");
}

void Predict(std::string_view bytes) {
  v1::PredictRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  for (const v1::Picture& picture : request.pictures()) {
    const auto content = ContentOf(picture);
    if (!content.ok()) return RequireRefusal(content.status());
    Take(*content);
  }
}

void Push(std::string_view bytes) {
  v1::PushRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto picture = ToPushed(request.frame());
  if (!picture.ok()) return RequireRefusal(picture.status());
  Require(!picture->taken || picture->taken->count() >= 0, "a frame is taken after 1970");
  Take(picture->content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = TextOf(data, size).substr(1);
  if (data[0] % 2 == 0) {
    Predict(bytes);
  } else {
    Push(bytes);
  }
  return 0;
}
