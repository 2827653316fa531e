#include "service/commands/evaluate/evaluation_plots.h"

#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "service/commands/evaluate/evaluation_metrics.h"
#include "service/commands/evaluate/gnuplot.h"
#include "service/terminal/mean_and_deviation.h"

namespace millrace::service {
namespace {

using pipeline::FlowEvaluation;
using pipeline::ScoredStream;

// A line of a plot: for each x the values of all seeds.
struct Line {
  std::string name;
  std::map<double, std::vector<double>> points;
  bool learns = true;
};

struct Axes {
  std::string x;
  std::string y;
  bool with_deviation = false;
};

void AddWindows(const ScoredStream& stream, const EvaluationMetric& metric, Line& line) {
  for (const pipeline::WindowScores& window : stream.windows) {
    const std::optional<double> value = metric.of(window.scores);
    if (!value) continue;
    line.points[std::chrono::duration<double>(window.start).count()].push_back(*value);
  }
}

std::vector<Line> OverTime(const FlowEvaluation& evaluation, const EvaluationMetric& metric) {
  std::vector<Line> lines;
  for (const EvaluationGroup& group : GroupsOf(evaluation)) {
    Line& line = lines.emplace_back(Line{.name = group.name, .points = {}});
    for (const FlowEvaluation::Run* run : group.runs) AddWindows(run->result.model, metric, line);
  }
  for (const FlowEvaluation::Reference& reference : evaluation.references) {
    if (lines.empty() || lines.back().name != reference.name) {
      lines.push_back({.name = reference.name, .points = {}, .learns = false});
    }
    AddWindows(reference.scores, metric, lines.back());
  }
  return lines;
}

std::vector<Line> OverRates(const FlowEvaluation& evaluation, const EvaluationMetric& metric) {
  std::vector<Line> lines;
  for (const FlowEvaluation::Run& run : evaluation.runs) {
    if (!run.result.streaming) continue;
    const std::optional<double> value = metric.of(run.result.streaming->whole);
    if (!value) continue;
    pipeline::FlowRunName at_any_rate = run.name;
    at_any_rate.camera_rate = 0;
    const std::string name = at_any_rate.Text();
    Line* line = nullptr;
    for (Line& known : lines) line = known.name == name ? &known : line;
    if (line == nullptr) line = &lines.emplace_back(Line{.name = name, .points = {}});
    line->points[run.name.camera_rate].push_back(*value);
  }
  return lines;
}

std::string BlockOf(const Line& line, std::size_t number) {
  std::string block = absl::StrFormat("$line%d << EOD\n", number);
  for (const auto& [x, values] : line.points) {
    const MeanAndDeviation spread = MeanOf(values);
    absl::StrAppendFormat(&block, "%g %g %g\n", x, spread.mean, spread.deviation);
  }
  return block + "EOD\n";
}

// Colours that red-green colour-blind readers can tell apart (Okabe and Ito). Methods that do not
// learn are grey and dashed.
std::string StyleOf(const Line& line, std::size_t number) {
  static constexpr std::string_view kColours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                  "#E69F00", "#56B4E9", "#000000", "#8B6914"};
  if (!line.learns) return absl::StrFormat("lw 1.5 dt %d lc rgb '#888888'", 2 + number % 4);
  const std::string_view colour = kColours[number % std::size(kColours)];
  return absl::StrCat("lw 2 pt 7 ps 0.5 lc rgb '", std::string(colour), "'");
}

std::optional<EvaluationPlot> PlotOf(std::string name, const Axes& axes,
                                     const std::vector<Line>& lines) {
  EvaluationPlot plot{
      .name = std::move(name),
      .commands =
          absl::StrCat("set terminal svg size 900,520 font 'sans-serif,13' background '#ffffff'\n"
                       "set output '",
                       plot.name,
                       ".svg'\n"
                       "set xlabel '",
                       axes.x, "'\nset ylabel '", axes.y,
                       "'\n"
                       "set key outside right top noenhanced\n"
                       "set grid ytics lc rgb '#dddddd'\nset border 3\nset tics nomirror\n"
                       "set xrange [0:*] noextend\nset yrange [0:*]\n")};
  std::string drawn;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].points.empty()) continue;
    plot.commands += BlockOf(lines[i], i);
    const std::string title = absl::StrReplaceAll(lines[i].name, {{"'", "''"}});
    const std::string style = StyleOf(lines[i], i);
    absl::StrAppend(&drawn, drawn.empty() ? "plot " : ", \\\n     ", "$line", i,
                    " using 1:2 with linespoints ", style, " title '", title, "'");
    if (axes.with_deviation) {
      absl::StrAppend(&drawn, ", \\\n     $line", i, " using 1:2:3 with yerrorbars ", style,
                      " notitle");
    }
  }
  if (drawn.empty()) return std::nullopt;
  plot.commands += drawn + "\n";
  return plot;
}

std::size_t CountRates(const FlowEvaluation& evaluation) {
  std::map<double, int> rates;
  for (const FlowEvaluation::Run& run : evaluation.runs) ++rates[run.name.camera_rate];
  return rates.size();
}

}  // namespace

std::vector<EvaluationPlot> EvaluationPlots(const FlowEvaluation& evaluation) {
  std::vector<EvaluationPlot> plots;
  const bool rates = CountRates(evaluation) > 1;
  for (const std::string_view name : {"loss_ratio", "epe"}) {
    const EvaluationMetric& metric = EvaluationMetricNamed(name);
    const std::string y = PseudoMark(metric, evaluation, ' ') + std::string(metric.axis);
    std::optional<EvaluationPlot> plot =
        PlotOf(std::string(name), {.x = "stream time (s)", .y = y}, OverTime(evaluation, metric));
    if (plot) plots.push_back(*std::move(plot));
    if (!rates) continue;
    plot = PlotOf(absl::StrCat(std::string(name), "_by_rate"),
                  {.x = "camera (frames/s)", .y = y + " at every instant", .with_deviation = true},
                  OverRates(evaluation, metric));
    if (plot) plots.push_back(*std::move(plot));
  }
  return plots;
}

absl::Status DrawPlots(const std::vector<EvaluationPlot>& plots, const std::string& folder) {
  for (const EvaluationPlot& plot : plots) {
    const std::string file = plot.name + ".gp";
    MILLRACE_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder, "/", file), plot.commands));
    MILLRACE_RETURN_IF_ERROR(RunGnuplot(folder, file));
  }
  return absl::OkStatus();
}

}  // namespace millrace::service
