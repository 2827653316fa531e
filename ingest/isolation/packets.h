// Whole messages over a socket between two processes, with a file beside a message where needed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "base/descriptor.h"

namespace millrace::ingest {

/// Two ends of a connection that keeps messages apart, and in order. UNAVAILABLE where there
/// are no descriptors.
[[nodiscard]] absl::StatusOr<std::pair<Descriptor, Descriptor>> NewPacketSocket();

/// Sends `bytes`, and `file` along with them unless it is -1. Waits for room if `wait` says so.
/// Returns whether it was sent; not where the other end is gone, or there is no room: see errno.
bool SendPacket(int socket, std::string_view bytes, bool wait, int file = -1);

struct Packet {
  std::string bytes;
  Descriptor file{-1};
};
/// Waits for the next message. Nothing once the other end says no more, or after one that is longer
/// than `most_bytes`. Files beside it are refused unless `with_file` says otherwise.
[[nodiscard]] std::optional<Packet> ReceivePacket(int socket, std::size_t most_bytes,
                                                  bool with_file = false);

}  // namespace millrace::ingest
