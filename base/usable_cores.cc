#include "base/usable_cores.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"

namespace millrace {
namespace {

/// The container's CPU quota in cores, from cgroup v2's "QUOTA PERIOD". 0: no limit.
double CoresOfQuota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  double granted = 0;
  if (!(file >> quota >> period) || period <= 0 || !absl::SimpleAtod(quota, &granted)) return 0;
  return granted / period;
}

}  // namespace

double UsableCores() {
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  const double quota = CoresOfQuota();
  return quota > 0 ? std::min(cores, quota) : cores;
}

}  // namespace millrace
