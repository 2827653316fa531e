#include "ingest/isolation/confinement.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "base/descriptor.h"

namespace millrace::ingest {
namespace {

constexpr int kCannot = 70;

void Require(bool done, const char* what) {
  if (done) return;
  std::perror(what);
  _exit(kCannot);
}

void Limit(__rlimit_resource_t resource, std::uint64_t most) {
  const rlimit limit = {.rlim_cur = most, .rlim_max = most};
  rlimit now = {};
  Require(getrlimit(resource, &now) == 0, "getrlimit");
  if (now.rlim_max < most) return;
  Require(setrlimit(resource, &limit) == 0, "setrlimit");
}

/// What the limit of data counts. 0 where the system does not say.
std::uint64_t DataBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long data_pages = 0;
  // Size, resident, shared, text, libraries, data and stack.
  const int read = std::fscanf(file, "%*u %*u %*u %*u %*u %lu", &data_pages);
  std::fclose(file);
  return read == 1 ? data_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

/// Where there is no /proc, the system decides as it does.
void GoFirstWhenMemoryIsShort() {
  constexpr std::string_view kMore = "500";
  const Descriptor score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score.value() < 0) return;
  [[maybe_unused]] const ssize_t written = write(score.value(), kMore.data(), kMore.size());
}

}  // namespace

void EndWith(pid_t parent) {
  Require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "PR_SET_PDEATHSIG");
  if (getppid() != parent) _exit(kCannot);  // It has ended before.
}

void Confine(const Confinement& confinement, pid_t parent, unsigned int keep) {
  EndWith(parent);
  Require(close_range(keep, UINT_MAX, 0) == 0, "close_range");
  GoFirstWhenMemoryIsShort();
  Require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_NOFILE, confinement.descriptors);
  Limit(RLIMIT_DATA, DataBytes() + confinement.more_data_bytes);
}

}  // namespace millrace::ingest
