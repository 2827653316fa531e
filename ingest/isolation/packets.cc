#include "ingest/isolation/packets.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace millrace::ingest {
namespace {

/// Space for one descriptor beside a message.
struct FileBeside {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room = {};
};

Descriptor FileOf(msghdr& header) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int file = -1;
    std::memcpy(&file, CMSG_DATA(part), sizeof(file));
    return Descriptor(file);
  }
  return Descriptor(-1);
}

}  // namespace

absl::StatusOr<std::pair<Descriptor, Descriptor>> NewPacketSocket() {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return absl::UnavailableError(
        absl::StrCat("no socket for its process: ", std::generic_category().message(errno)));
  }
  return std::pair(Descriptor(ends[0]), Descriptor(ends[1]));
}

bool SendPacket(int socket, std::string_view bytes, bool wait, int file) {
  iovec part = {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  FileBeside beside;
  if (file >= 0) {
    header.msg_control = beside.room.data();
    header.msg_controllen = beside.room.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &file, sizeof(file));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<Packet> ReceivePacket(int socket, std::size_t max_bytes, bool with_file) {
  Packet packet;
  packet.bytes.resize(max_bytes);
  iovec part = {.iov_base = packet.bytes.data(), .iov_len = packet.bytes.size()};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  FileBeside beside;
  if (with_file) {
    header.msg_control = beside.room.data();
    header.msg_controllen = beside.room.size();
  }
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    // If an end is closed with unread data, the other end gets one ECONNRESET. Its own unread data
    // stays readable.
  } while (received < 0 && (errno == EINTR || errno == ECONNRESET));
  if (received <= 0 || (header.msg_flags & MSG_TRUNC) != 0) return std::nullopt;
  packet.bytes.resize(static_cast<std::size_t>(received));
  if (with_file) return Packet{.bytes = std::move(packet.bytes), .file = FileOf(header)};
  return packet;
}

}  // namespace millrace::ingest
