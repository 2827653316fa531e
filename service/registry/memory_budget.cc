#include "service/registry/memory_budget.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/error_reason.h"

namespace millrace::service {
namespace {

constexpr double kGb = 1e9;
constexpr double kReservedShare = 0.1;
constexpr double kMinReserved = 0.5 * kGb;

double MachineBytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// "/a/b" from the line "0::/a/b". Empty: no control groups of version 2.
std::string OwnGroup(const std::string& file) {
  std::ifstream lines(file);
  const std::string version_2 = "0::";
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, version_2.size(), version_2) == 0) return line.substr(version_2.size());
  }
  return "";
}

/// The least limit of the group and all its parents. In a container the process's own group is the
/// root.
double SmallestLimit(const MemoryFiles& files, double limit) {
  std::string group = OwnGroup(files.groups_of_this_process);
  while (true) {
    std::ifstream file(files.groups + group + "/memory.max");
    std::string text;
    double bytes = 0;
    if (file >> text && absl::SimpleAtod(text, &bytes)) limit = std::min(limit, bytes);
    if (group.empty()) return limit;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

/// "4.2 GB", or "52 MB" below one GB.
std::string Amount(double bytes) {
  constexpr double kMb = 1e6;
  constexpr double kWhole = 999.5 * kMb;  // Larger values would round to 1000 MB.
  return bytes < kWhole ? absl::StrFormat("%.0f MB", bytes / kMb)
                        : absl::StrFormat("%.1f GB", bytes / kGb);
}

/// "'street' takes 4.2 GB", for each share.
std::string WhoTakes(const std::vector<HeldMemory>& held) {
  return absl::StrJoin(held, ", ", [](std::string* out, const HeldMemory& share) {
    absl::StrAppendFormat(out, "'%s' takes %s", share->stream, Amount(share->bytes));
  });
}

}  // namespace

double UsableMemoryBytes(const MemoryFiles& files) {
  const double machine = files.machine_bytes > 0 ? files.machine_bytes : MachineBytes();
  const double allowed = SmallestLimit(files, machine);
  return std::max(0.0, allowed - std::max(kReservedShare * allowed, kMinReserved));
}

absl::StatusOr<HeldMemory> MemoryBudget::Take(const MemoryShare& share, double budget_bytes) {
  const MutexLock lock(mu_);
  const std::vector<HeldMemory> held = Held();
  double left = budget_bytes;
  for (const HeldMemory& other : held) left -= other->bytes;
  if (share.bytes <= left) return Hold(share);
  const std::string still = Amount(std::max(left, 0.0));
  return WithReason(
      "DEVICE_BUDGET_EXCEEDED",
      {{"stream", share.stream},
       {"device", "memory"},
       {"needed", Amount(share.bytes)},
       {"left", still}},
      absl::ResourceExhaustedError(absl::StrFormat(
          "stream '%s': about %s of memory are needed, and of %s there are %s left%s%s; lower "
          "the size of model.input or the number schedule.stages. Or take a smaller network, "
          "delete another stream, or raise budget.memory_gb",
          share.stream, Amount(share.bytes), Amount(budget_bytes), still, held.empty() ? "" : ": ",
          WhoTakes(held))));
}

HeldMemory MemoryBudget::TakeAnyway(const MemoryShare& share) {
  const MutexLock lock(mu_);
  return Hold(share);
}

std::vector<HeldMemory> MemoryBudget::Held() {
  std::erase_if(shares_, [](const auto& share) { return share.expired(); });
  std::vector<HeldMemory> held;
  for (const auto& share : shares_) {
    if (HeldMemory now = share.lock()) held.push_back(std::move(now));
  }
  return held;
}

HeldMemory MemoryBudget::Hold(const MemoryShare& share) {
  auto held = std::make_shared<const MemoryShare>(share);
  shares_.push_back(held);
  return held;
}

}  // namespace millrace::service
