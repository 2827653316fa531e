#include "service/overload/idle_cores.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace millrace::service {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The first line of proc(5)'s /proc/stat: "cpu USER NICE SYSTEM IDLE IOWAIT ...", in ticks.
double IdleSeconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double io_wait = 0;
  if (!(file >> name >> user >> nice >> system >> idle >> io_wait)) return 0;
  return (idle + io_wait) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

CpuTimes ReadCpuTimes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return {.idle_s = IdleSeconds(), .used_s = Seconds(usage.ru_utime) + Seconds(usage.ru_stime)};
}

double IdleCores(const CpuTimes& before, const CpuTimes& after, double seconds, double usable) {
  if (seconds <= 0) return 0;
  const double idle = (after.idle_s - before.idle_s) / seconds;
  const double unused = usable - (after.used_s - before.used_s) / seconds;
  return std::max(0.0, std::min(idle, unused));
}

}  // namespace millrace::service
