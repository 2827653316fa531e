#include "pipeline/wires/byte_message.h"

#include <cstdint>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::pipeline {

absl::Status SendBytes(Wires& wires, int rank, int tag, std::string_view bytes) {
  const std::uint64_t size = bytes.size();
  const auto of_size = wires.Send(rank, tag, std::as_bytes(std::span(&size, 1)));
  MILLRACE_RETURN_IF_ERROR(of_size->Wait());
  if (bytes.empty()) return absl::OkStatus();
  return wires.Send(rank, tag + 1, std::as_bytes(std::span(bytes)))->Wait();
}

absl::StatusOr<std::string> ReceiveBytes(Wires& wires, int rank, int tag, std::size_t max_bytes) {
  std::uint64_t size = 0;
  const auto of_size = wires.Receive(rank, tag, std::as_writable_bytes(std::span(&size, 1)));
  MILLRACE_RETURN_IF_ERROR(of_size->Wait());
  if (size > max_bytes) {
    return absl::DataLossError(absl::StrCat("rank ", rank, " announces a message of ", size,
                                            " bytes; at most ", max_bytes, " are taken"));
  }
  std::string bytes(size, '\0');
  if (bytes.empty()) return bytes;
  MILLRACE_RETURN_IF_ERROR(
      wires.Receive(rank, tag + 1, std::as_writable_bytes(std::span(bytes)))->Wait());
  return bytes;
}

}  // namespace millrace::pipeline
