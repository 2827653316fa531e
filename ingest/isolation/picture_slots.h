// Shared memory in which a camera's process writes pictures for the server.
//
// clang-format off
//   file in memory   │ slot 0: one picture │ slot 1: one picture │
//   the server         reads; the size is sealed, so that no process can shrink it during a read
//   the process        writes into one slot, then into the other, until the first is free again
// clang-format on
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "base/descriptor.h"

namespace millrace::ingest {

/// Two slots: the process writes one picture while the server reads another.
inline constexpr std::uint32_t kPictureSlots = 2;

/// A mapping of the slots, unmapped by the destructor. Not thread-safe to move.
class MappedSlots {
 public:
  /// Maps `kPictureSlots` slots of `file`. UNAVAILABLE if there is no address space.
  [[nodiscard]] static absl::StatusOr<MappedSlots> Map(const Descriptor& file,
                                                       std::size_t picture_bytes, bool writable);
  ~MappedSlots();
  MappedSlots(MappedSlots&& from) noexcept;
  MappedSlots& operator=(MappedSlots&&) = delete;

  /// The slot's bytes. Another process may change them at any time. REQUIRES: slot < kPictureSlots.
  [[nodiscard]] std::span<const std::uint8_t> Slot(std::uint32_t slot) const;
  /// REQUIRES: mapped with `writable`.
  [[nodiscard]] std::span<std::uint8_t> WritableSlot(std::uint32_t slot);

 private:
  MappedSlots(std::uint8_t* begin, std::size_t picture_bytes)
      : begin_(begin), picture_bytes_(picture_bytes) {}

  std::uint8_t* begin_;
  std::size_t picture_bytes_;
};

/// Creates a file in memory for `kPictureSlots` pictures with a sealed size. UNAVAILABLE if there
/// is no memory.
[[nodiscard]] absl::StatusOr<Descriptor> NewSlotsFile(std::size_t picture_bytes);

}  // namespace millrace::ingest
