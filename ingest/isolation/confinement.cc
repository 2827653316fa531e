#include "ingest/isolation/confinement.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ingest/isolation/messages.h"

namespace millrace::ingest {
namespace {

void Require(bool done) {
  if (!done) _exit(kExitNotConfined);
}

void Limit(__rlimit_resource_t resource, std::uint64_t max) {
  const rlimit limit = {.rlim_cur = max, .rlim_max = max};
  rlimit now = {};
  Require(getrlimit(resource, &now) == 0);
  if (now.rlim_max < max) return;
  Require(setrlimit(resource, &limit) == 0);
}

/// The memory that the data limit counts. 0 if the system does not tell.
std::uint64_t DataBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long data_pages = 0;
  // Size, resident, shared, text, libraries, data and stack.
  const int read = std::fscanf(file, "%*u %*u %*u %*u %*u %lu", &data_pages);
  std::fclose(file);
  return read == 1 ? data_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

/// Makes the system kill it before its parent. Without /proc, the system's default applies.
void GoFirstWhenMemoryIsShort() {
  constexpr int kMore = 500;
  constexpr int kMaxScore = 1000;
  std::FILE* const file = std::fopen("/proc/self/oom_score_adj", "r+e");
  if (file == nullptr) return;
  int score = 0;
  if (std::fscanf(file, "%d", &score) == 1) {
    std::rewind(file);
    std::fprintf(file, "%d", std::min(kMaxScore, score + kMore));
  }
  std::fclose(file);
}

std::vector<int> OpenDescriptors() {
  std::vector<int> open;
  DIR* const folder = opendir("/proc/self/fd");
  Require(folder != nullptr);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  while (const dirent* const entry = readdir(folder)) open.push_back(std::atoi(entry->d_name));
  closedir(folder);
  return open;
}

// Kernels before 5.9 lack close_range(), and system call filters may refuse it.
void CloseFrom(unsigned int first) {
  if (close_range(first, UINT_MAX, 0) == 0) return;
  Require(errno == ENOSYS || errno == EPERM);
  for (const int one : OpenDescriptors()) {
    if (one >= static_cast<int>(first)) close(one);
  }
}

}  // namespace

void EndWith(pid_t parent) {
  Require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
  Require(getppid() == parent);  // Else the parent has already ended.
}

void Confine(const Confinement& confinement, pid_t parent, unsigned int keep) {
  EndWith(parent);
  CloseFrom(keep);
  GoFirstWhenMemoryIsShort();
  Require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_NOFILE, confinement.descriptors);
  Limit(RLIMIT_DATA, DataBytes() + confinement.more_data_bytes);
}

}  // namespace millrace::ingest
