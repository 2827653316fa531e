#include "service/wire/wire_labels.h"

#include <cstddef>
#include <string>
#include <vector>

#include "base/truncate.h"

namespace millrace::service {
namespace {

constexpr std::size_t kMaxMessageBytes = 300;

v1::LabelResult ResultOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return v1::LABEL_RESULT_ADDED;
    case absl::StatusCode::kOutOfRange:
      return v1::LABEL_RESULT_TOO_LATE;
    case absl::StatusCode::kNotFound:
      return v1::LABEL_RESULT_UNKNOWN_FRAME;
    case absl::StatusCode::kAlreadyExists:
      return v1::LABEL_RESULT_ALREADY_LABELLED;
    case absl::StatusCode::kInvalidArgument:
      return v1::LABEL_RESULT_INVALID;
    default:
      return v1::LABEL_RESULT_UNSPECIFIED;
  }
}

}  // namespace

ClientLabel ToLabel(const v1::FrameLabel& message) {
  switch (message.label_case()) {
    case v1::FrameLabel::kClassNumber:
      return std::int64_t{message.class_number()};
    case v1::FrameLabel::kClassName:
      return message.class_name();
    case v1::FrameLabel::kValues:
    case v1::FrameLabel::LABEL_NOT_SET:
      break;
  }
  const auto& values = message.values().values();
  return std::vector<float>(values.begin(), values.end());
}

void ToMessage(const absl::Status& added, v1::LabelOutcome& message) {
  message.set_result(ResultOf(added));
  // The message may repeat the client's text, and a response has thousands of messages.
  message.set_message(Truncated(std::string(added.message()), kMaxMessageBytes));
}

}  // namespace millrace::service
