#include "service/net/open_files.h"

#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/plural.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

/// Above this limit, libraries that loop over all descriptors become slow.
constexpr rlim_t kMaxFiles = 1 << 20;
/// Descriptors of a server without streams and clients, and of each stream, with a margin.
constexpr std::size_t kOfServer = 64;
constexpr std::size_t kOfStream = 12;
/// Connections of the smallest port, and of all three ports together.
constexpr std::size_t kOfPort = 8;
constexpr std::size_t kOfClients = 6 * kOfPort;
/// Below this limit the log says what the limit suffices for.
constexpr std::size_t kPlenty = 4096;

ConnectionLimits Share(std::size_t of_all) {
  const std::size_t in_all = std::clamp<std::size_t>(of_all, kOfPort, 16'384);
  // Room for four clients at their bounds; the only client of a small server gets up to half.
  return {.in_all = in_all,
          .per_client = std::max(in_all / 4, std::min<std::size_t>(in_all / 2, 256))};
}

rlimit Limit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}

}  // namespace

OpenFileShares ShareOpenFiles(std::size_t limit, std::size_t streams) {
  const std::size_t kept = std::max(limit / 4, kOfServer + streams * kOfStream);
  const std::size_t left = limit - std::min(limit, kept);
  return {.grpc = Share(left * 4 / 6),
          .page = Share(left / 6),
          .probes = Share(left / 6),
          .streams = (kept - kOfServer) / kOfStream};
}

std::size_t MaxOpenFiles() { return Limit().rlim_cur; }

absl::Status RaiseOpenFiles(std::size_t streams) {
  rlimit limit = Limit();
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kMaxFiles));
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));  // The result is read back below.
  const std::size_t allowed = MaxOpenFiles();
  const std::size_t needed = kOfServer + streams * kOfStream + kOfClients;
  if (allowed < needed) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this process may have ", allowed, " files open, and needs ", needed, " for ",
                     Plural(streams, "stream"), ": raise the limit (ulimit -n ", kPlenty,
                     ", LimitNOFILE= of systemd, --ulimit nofile= of a container)"));
  }
  if (allowed < kPlenty) {
    const OpenFileShares shares = ShareOpenFiles(allowed, streams);
    spdlog::warn(
        "this process may have {} files open: {}, and {} connections of gRPC's clients, {} of "
        "the live page's and {} of probes. Raise the limit (ulimit -n, LimitNOFILE= of systemd, "
        "--ulimit nofile= of a container) for more",
        allowed, Plural(shares.streams, "stream"), shares.grpc.in_all, shares.page.in_all,
        shares.probes.in_all);
  }
  return absl::OkStatus();
}

}  // namespace millrace::service
