#include "service/commands/plan/plan_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/plural.h"
#include "service/commands/plan/plan_auto.h"
#include "service/commands/plan/plan_hosts.h"
#include "service/terminal/text_table.h"

namespace millrace::service {
namespace {

using pipeline::NetworkProfile;

std::string LayersText(const PlannedStage& stage) {
  if (stage.first_layer == stage.last_layer) return absl::StrCat(stage.first_layer);
  return absl::StrCat(stage.first_layer, "-", stage.last_layer);
}

// "stage 2 (layers 3-5)".
std::string StageText(const PlannedStage& stage, int number) {
  const bool one = stage.first_layer == stage.last_layer;
  return absl::StrCat("stage ", number, one ? " (layer " : " (layers ", LayersText(stage), ")");
}

std::string DeviceText(const PlannedStage& stage) {
  if (stage.device == stage.backward_device) return absl::StrCat(stage.device);
  return absl::StrCat(stage.device, " and ", stage.backward_device);
}

std::string PercentText(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

std::string StagesText(const PlanReport& report) {
  const bool bytes = MaxMemory(report) > 0;
  std::vector<std::string> heads = {"stage",    "layers",    "device",     "load ms",     "slots",
                                    "mismatch", "staleness", "weight gap", "gradient age"};
  if (bytes) heads.emplace_back("memory");
  if (report.hosts) heads.emplace_back("host");
  TextTable table(heads);
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    const PlannedStage& stage = report.stages[i];
    std::vector<std::string> cells = {absl::StrCat(i + 1),
                                      LayersText(stage),
                                      DeviceText(stage),
                                      NumberText(stage.load_ms),
                                      absl::StrCat(stage.figures.slots),
                                      absl::StrCat(stage.figures.mismatch),
                                      absl::StrCat(stage.figures.staleness),
                                      absl::StrCat(stage.figures.weight_gap),
                                      absl::StrCat(stage.figures.gradient_age)};
    if (bytes) cells.push_back(BytesText(stage.memory_bytes, MaxMemory(report)));
    if (report.hosts) cells.push_back(absl::StrCat(report.hosts->host_of_stage[i]));
    table.Add(std::move(cells));
  }
  return table.Text();
}

std::string PeriodText(const PlanReport& report) {
  std::string text = absl::StrCat(NumberText(report.period_ms), " ms between samples, ",
                                  NumberText(1000 / report.period_ms), " each second");
  if (report.asked_period_ms > 0 && report.asked_period_ms < report.min_period_ms * (1 - 1e-9)) {
    absl::StrAppend(&text, "; ", NumberText(report.asked_period_ms),
                    " ms, as asked, does not hold");
  }
  if (report.period_ms > report.min_period_ms * (1 + 1e-9)) {
    absl::StrAppend(&text, "; it could be ", NumberText(report.min_period_ms), " ms");
  }
  return text;
}

std::string BottleneckText(const NetworkProfile& network, const PlanReport& report) {
  const Bottleneck& bottleneck = report.bottleneck;
  std::string text =
      absl::StrCat(PlaceText(report), ": ", NumberText(bottleneck.load_ms), " ms a sample");
  const std::string layer =
      absl::StrCat("layer ", bottleneck.layer, " (", network.layers[bottleneck.layer].name, ")");
  if (bottleneck.kind == Bottleneck::Kind::kLink) {
    const BusiestLink link = BusiestLinkOf(*report.hosts);
    absl::StrAppend(&text, link.receives ? " to receive " : " to send ",
                    BytesText(link.bytes, link.bytes));
  } else if (bottleneck.kind == Bottleneck::Kind::kCut && bottleneck.copies > 1) {
    absl::StrAppend(&text, ", for the ", bottleneck.copies, " copies that share its link");
  } else if (bottleneck.kind == Bottleneck::Kind::kCut) {
    absl::StrAppend(&text, " to copy the output of ", layer, ", or its gradient back");
  } else {
    absl::StrAppend(&text, "; ", layer, " takes ", NumberText(bottleneck.layer_ms), " ms");
  }
  if (report.min_period_ms > bottleneck.load_ms * (1 + 1e-9)) {
    absl::StrAppend(&text, "; the order adds ",
                    NumberText(report.min_period_ms - bottleneck.load_ms), " ms of waiting");
  }
  return text;
}

std::string MemoryText(const NetworkProfile& network, const PlanReport& report) {
  const double largest = std::max(MaxMemory(report), network.memory_bytes.value_or(0));
  std::string text = absl::StrJoin(report.memory_bytes, ", ", [&](std::string* out, double bytes) {
    absl::StrAppend(out, BytesText(bytes, largest));
  });
  if (network.memory_bytes) {
    absl::StrAppend(&text, "; each device has ", BytesText(*network.memory_bytes, largest));
  }
  return text;
}

std::string SummaryText(const NetworkProfile& network, const PlanReport& report) {
  std::string text;
  const auto line = [&text](const char* name, const std::string& what) {
    absl::StrAppendFormat(&text, "%-12s%s\n", name, what);
  };
  line("period", PeriodText(report));
  line("delay", absl::StrCat(NumberText(report.delay_ms), " ms from arrival to prediction"));
  line("bottleneck", BottleneckText(network, report));
  line("speed-up", absl::StrFormat("%.2f over one device; at most %.2f, as no layer is divided",
                                   report.speed_up, report.speed_up_cap));
  if (report.bound_ms) {
    line("bound", absl::StrCat("no runs of layers on these devices are faster than ",
                               NumberText(*report.bound_ms), " ms"));
  }
  line("idle", absl::StrJoin(report.idle, ", ", [](std::string* out, double share) {
         absl::StrAppend(out, PercentText(share));
       }));
  if (MaxMemory(report) > 0) line("memory", MemoryText(network, report));
  return text;
}

std::vector<std::string> CompareCells(const std::string& schedule, const PlanReport& report,
                                      double largest) {
  int mismatch = 0;
  for (const PlannedStage& stage : report.stages) {
    mismatch = std::max(mismatch, stage.figures.mismatch);
  }
  const double memory = MaxMemory(report);
  return {schedule,
          absl::StrCat(report.plan.devices.size()),
          NumberText(report.period_ms),
          NumberText(report.delay_ms),
          absl::StrCat(MaxStaleness(report)),
          absl::StrCat(mismatch),
          absl::StrCat(TotalSlots(report)),
          PercentText(MeanIdle(report)),
          memory > 0 ? BytesText(memory, largest) : "-"};
}

}  // namespace

std::string TextOfPlan(const NetworkProfile& network, const PlanReport& report) {
  std::string text =
      absl::StrCat("schedule ", report.schedule, ", ", Plural(report.stages.size(), "stage"),
                   " on ", Plural(report.plan.devices.size(), "device"));
  if (report.first_sample > 0) absl::StrAppend(&text, ", from sample ", report.first_sample);
  if (report.hosts) {
    absl::StrAppend(&text, " of ", Plural(report.hosts->loads.size(), "host"));
  }
  const std::string hosts = report.hosts ? HostsText(*report.hosts) : "";
  return absl::StrCat(text, "\n\n", StagesText(report), "\n", hosts, hosts.empty() ? "" : "\n",
                      SummaryText(network, report),
                      report.found ? FoundText(*report.found, MaxStaleness(report)) : "");
}

std::string CompareText(const std::vector<ComparedSchedule>& schedules) {
  TextTable table({"schedule", "devices", "period ms", "delay ms", "staleness", "mismatch", "slots",
                   "idle", "memory"});
  double largest = 0;
  for (const ComparedSchedule& schedule : schedules) {
    if (schedule.reports.ok()) {
      largest = std::max(largest, MaxMemory(schedule.reports->front()));
    }
  }
  std::string refused;
  for (const ComparedSchedule& schedule : schedules) {
    if (schedule.reports.ok()) {
      table.Add(CompareCells(schedule.name, schedule.reports->front(), largest));
    } else {
      absl::StrAppend(&refused, schedule.name, ": ",
                      std::string(schedule.reports.status().message()), "\n");
    }
  }
  return absl::StrCat(table.Text(), refused.empty() ? "" : "\n", refused,
                      "\nstaleness, mismatch and memory are those of the stage or device with "
                      "the most; slots are all stages'. The row hybrid is its first phase\n");
}

std::string PlaceText(const PlanReport& report) {
  const int number = report.bottleneck.number;
  switch (report.bottleneck.kind) {
    case Bottleneck::Kind::kStage:
      return StageText(report.stages[number - 1], number);
    case Bottleneck::Kind::kDevice:
      return absl::StrCat("device ", number);
    case Bottleneck::Kind::kCut:
      return absl::StrCat("the cut behind stage ", number);
    case Bottleneck::Kind::kLink:
      return absl::StrCat("the link of host ", number);
  }
  return "";
}

}  // namespace millrace::service
