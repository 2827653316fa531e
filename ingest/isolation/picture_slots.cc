#include "ingest/isolation/picture_slots.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace millrace::ingest {
namespace {

absl::Status NoRoom(const char* what) {
  return absl::UnavailableError(absl::StrCat("no memory for its pictures: ", what, ": ",
                                             std::generic_category().message(errno)));
}

}  // namespace

absl::StatusOr<Descriptor> NewSlotsFile(std::size_t picture_bytes) {
  Descriptor file(memfd_create("millrace-pictures", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.value() < 0) return NoRoom("memfd_create");
  if (ftruncate(file.value(), static_cast<off_t>(picture_bytes * kPictureSlots)) != 0) {
    return NoRoom("ftruncate");
  }
  if (fcntl(file.value(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return NoRoom("seals");
  }
  return file;
}

absl::StatusOr<MappedSlots> MappedSlots::Map(const Descriptor& file, std::size_t picture_bytes,
                                             bool writable) {
  void* const begin =
      mmap(nullptr, picture_bytes * kPictureSlots, writable ? PROT_READ | PROT_WRITE : PROT_READ,
           MAP_SHARED, file.value(), 0);
  if (begin == MAP_FAILED) return NoRoom("mmap");
  return MappedSlots(static_cast<std::uint8_t*>(begin), picture_bytes);
}

MappedSlots::MappedSlots(MappedSlots&& from) noexcept
    : begin_(std::exchange(from.begin_, nullptr)), picture_bytes_(from.picture_bytes_) {}

MappedSlots::~MappedSlots() {
  if (begin_ != nullptr) munmap(begin_, picture_bytes_ * kPictureSlots);
}

std::span<const std::uint8_t> MappedSlots::Slot(std::uint32_t slot) const {
  MILLRACE_CHECK(slot < kPictureSlots);
  return {begin_ + slot * picture_bytes_, picture_bytes_};
}

std::span<std::uint8_t> MappedSlots::WritableSlot(std::uint32_t slot) {
  MILLRACE_CHECK(slot < kPictureSlots);
  return {begin_ + slot * picture_bytes_, picture_bytes_};
}

}  // namespace millrace::ingest
