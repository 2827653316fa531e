// Messages over a socket between two processes, each optionally with a file descriptor.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "base/descriptor.h"

namespace millrace::ingest {

/// Returns the two ends of a connection that keeps message boundaries and order. UNAVAILABLE if no
/// descriptors are left.
[[nodiscard]] absl::StatusOr<std::pair<Descriptor, Descriptor>> NewPacketSocket();

/// Sends `bytes`, with `file` unless it is -1. Waits for space if `wait` is true. Returns whether
/// the message was sent. If the other end is closed or there is no space, returns false and sets
/// errno.
bool SendPacket(int socket, std::string_view bytes, bool wait, int file = -1);

struct Packet {
  std::string bytes;
  Descriptor file{-1};
};
/// Waits for the next message. nullopt if the other end stopped writing, or if the message is
/// longer than `max_bytes`. Accepts a file descriptor only if `with_file` is true.
[[nodiscard]] std::optional<Packet> ReceivePacket(int socket, std::size_t max_bytes,
                                                  bool with_file = false);

}  // namespace millrace::ingest
