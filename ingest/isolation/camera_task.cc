#include "ingest/isolation/camera_task.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ingest/source/login.h"

namespace millrace::ingest {
namespace {

/// All fields of a task except its texts.
struct Numbers {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::int32_t hardware_decode = 0;
  std::int32_t transport = 0;
  std::int64_t latency_ms = 0;
  std::int64_t connect_timeout_ms = 0;
  std::int32_t verify = 0;
  std::int32_t has_password = 0;
  std::int64_t log_level = 0;
  std::array<std::uint64_t, 4> text_bytes = {};
};

Numbers NumbersOf(const CameraTask& task) {
  const CameraOptions& camera = task.camera;
  return {.width = task.width,
          .height = task.height,
          .hardware_decode = static_cast<std::int32_t>(task.hardware_decode),
          .transport = static_cast<std::int32_t>(camera.transport),
          .latency_ms = camera.latency.count(),
          .connect_timeout_ms = camera.connect_timeout.count(),
          .verify = camera.tls.verify ? 1 : 0,
          .has_password = task.has_password ? 1 : 0,
          .log_level = task.log_level};
}

template <typename Task>
auto TextsOf(Task& task) {
  return std::array{&task.uri, &task.camera.login.user, &task.password, &task.camera.tls.ca_file};
}

}  // namespace

absl::Status ResolvePassword(CameraTask& task) {
  Login& login = task.camera.login;
  if (!HasPassword(login)) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(task.password, ReadPassword(login));
  task.has_password = true;
  login = {.user = login.user};
  return absl::OkStatus();
}

std::string Encode(const CameraTask& task) {
  Numbers numbers = NumbersOf(task);
  const auto texts = TextsOf(task);
  for (std::size_t i = 0; i < texts.size(); ++i) numbers.text_bytes.at(i) = texts.at(i)->size();
  std::string bytes(reinterpret_cast<const char*>(&numbers), sizeof(numbers));
  for (const std::string* text : texts) bytes += *text;
  return bytes;
}

absl::StatusOr<CameraTask> DecodeTask(std::string_view bytes) {
  absl::Status wrong = absl::InvalidArgumentError("the camera's task cannot be read");
  Numbers numbers;
  if (bytes.size() < sizeof(numbers)) return wrong;
  std::memcpy(&numbers, bytes.data(), sizeof(numbers));
  bytes.remove_prefix(sizeof(numbers));
  using std::chrono::milliseconds;
  CameraTask task = {.width = numbers.width,
                     .height = numbers.height,
                     .hardware_decode = static_cast<HardwareDecode>(numbers.hardware_decode),
                     .camera = {.transport = static_cast<Transport>(numbers.transport),
                                .latency = milliseconds(numbers.latency_ms),
                                .tls = {.verify = numbers.verify != 0},
                                .connect_timeout = milliseconds(numbers.connect_timeout_ms)},
                     .has_password = numbers.has_password != 0,
                     .log_level = static_cast<int>(numbers.log_level)};
  const auto texts = TextsOf(task);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::uint64_t size = numbers.text_bytes.at(i);
    if (size > bytes.size()) return wrong;
    *texts.at(i) = bytes.substr(0, size);
    bytes.remove_prefix(size);
  }
  if (!bytes.empty()) return wrong;
  return task;
}

}  // namespace millrace::ingest
