// Memory in which a camera's process leaves pictures for the server.
//
// clang-format off
//   file in memory   │ slot 0: one picture │ slot 1: one picture │
//   the server         reads; its size is sealed: nobody can cut it from under the reader
//   the process        writes into a slot, and into the other until that one is free again
// clang-format on
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "base/descriptor.h"

namespace millrace::ingest {

/// One picture is written while another is read.
inline constexpr std::uint32_t kPictureSlots = 2;

/// A part of the address space, given back at the end. Not thread-safe to move.
class MappedSlots {
 public:
  /// Maps `kPictureSlots` slots of `file`. UNAVAILABLE where there is no room.
  [[nodiscard]] static absl::StatusOr<MappedSlots> Map(const Descriptor& file,
                                                       std::size_t picture_bytes, bool writable);
  ~MappedSlots();
  MappedSlots(MappedSlots&& from) noexcept;
  MappedSlots& operator=(MappedSlots&&) = delete;

  /// What it holds may change at any time by who else maps it. REQUIRES: slot < kPictureSlots.
  [[nodiscard]] std::span<const std::uint8_t> Slot(std::uint32_t slot) const;
  /// REQUIRES: it is mapped to be written, too.
  [[nodiscard]] std::span<std::uint8_t> WritableSlot(std::uint32_t slot);

 private:
  MappedSlots(std::uint8_t* begin, std::size_t picture_bytes)
      : begin_(begin), picture_bytes_(picture_bytes) {}

  std::uint8_t* begin_;
  std::size_t picture_bytes_;
};

/// A file in memory with room for `kPictureSlots` pictures, whose size nobody can change any more.
/// UNAVAILABLE where there is none.
[[nodiscard]] absl::StatusOr<Descriptor> NewSlotsFile(std::size_t picture_bytes);

}  // namespace millrace::ingest
