#include "service/commands/address_space.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/plural.h"
#include "service/terminal/cli_exit_codes.h"

namespace millrace::service {
namespace {

// Measured: 1.7 GiB without a stream, mostly reserved for threads. Each stream adds 70 MiB, and
// several times that for a stream with larger pictures.
constexpr std::uint64_t kServer = std::uint64_t{4} << 30;
constexpr std::uint64_t kStream = std::uint64_t{256} << 20;
// The libraries' need while they load, with a margin.
constexpr std::uint64_t kLibraries = std::uint64_t{1} << 30;
constexpr std::uint64_t kMiB = 1 << 20;

rlim_t Limit() {
  rlimit limit = {};
  return getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

absl::Status CheckAddressSpace(std::size_t streams) {
  const rlim_t limit = Limit();
  const std::uint64_t needs = kServer + streams * kStream;
  if (limit == RLIM_INFINITY || limit >= needs) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("this process may have ", limit / kMiB, " MiB of addresses, and needs ",
                   needs / kMiB, " for ", Plural(streams, "stream"),
                   ": lift the limit (ulimit -v unlimited). It counts reserved addresses, not used "
                   "memory, which a cgroup limits"));
}

void EndIfAddressSpaceIsTiny() {
  if (Limit() >= kLibraries) return;
  constexpr std::string_view kWhy =
      "millrace: the limit of its addresses is too low for its libraries: lift it (ulimit -v "
      "unlimited)\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWhy.data(), kWhy.size());
  ::_exit(kExitFailure);
}

}  // namespace millrace::service
