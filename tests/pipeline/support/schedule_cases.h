// Every schedule, with every option that changes its plan, at few stages.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "pipeline/schedules/schedules.h"
#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {

struct ScheduleCase {
  std::string name;
  std::string schedule;
  ScheduleRequest request;

  friend void PrintTo(const ScheduleCase& c, std::ostream* out) { *out << c.name; }
};

inline std::vector<ScheduleCase> AllScheduleCases() {
  std::vector<ScheduleCase> cases;
  const auto add = [&](const std::string& schedule, int stages, const std::string& variant = "",
                       const std::function<void(ScheduleRequest&)>& set = {}) {
    ScheduleRequest request = RequestOf(ShapeWithSkips(stages));
    if (set) set(request);
    cases.push_back({schedule + "_" + std::to_string(stages) + variant, schedule, request});
  };
  for (const std::string& schedule : ScheduleNames()) {
    for (int stages = 1; stages <= 4; ++stages) add(schedule, stages);
  }
  add("one_f_one_b_star", 4, "_T6", [](ScheduleRequest& r) { r.period = 6; });
  add("one_f_one_b_star", 4, "_T12", [](ScheduleRequest& r) { r.period = 12; });
  // In some stages the weight gradient comes before the backward.
  for (int stages = 2; stages <= 6; ++stages) {
    add("one_f_one_b_one_w", stages, "_T4", [](ScheduleRequest& r) { r.period = 4; });
  }
  for (int stages = 2; stages <= 4; ++stages) {
    add("stale", stages, "_separate", [](ScheduleRequest& r) { r.separate_backwards = true; });
    add("gpipe", stages, "_except_last", [](ScheduleRequest& r) {
      r.recompute = Recompute::kExceptLast;
      r.samples = 5;
    });
    add("gpipe", stages, "_never", [](ScheduleRequest& r) {
      r.recompute = Recompute::kNever;
      r.samples = 3;
    });
  }
  add("stale", 8, "_separate", [](ScheduleRequest& r) { r.separate_backwards = true; });
  for (int samples = 1; samples <= 6; ++samples) {
    const auto set = [samples](ScheduleRequest& r) { r.samples = samples; };
    add("timeprest", 4, "_N" + std::to_string(samples), set);
    add("k_periodic", 4, "_k" + std::to_string(samples), set);
    if (samples >= 4) add("pipedream_2bw", 4, "_m" + std::to_string(samples), set);
  }
  add("interleaved", 3, "_121", [](ScheduleRequest& r) { r.device_of = {0, 1, 0}; });
  add("interleaved", 4, "_one_device", [](ScheduleRequest& r) { r.device_of = {0, 0, 0, 0}; });
  return cases;
}

}  // namespace millrace::pipeline
