#include "service/commands/evaluate/cli_evaluate_labels.h"

#include <string>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_join.h"
#include "service/terminal/cli_optimizer.h"
#include "service/terminal/cli_values.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
Each run streams the samples, so many passes, each in another order, and learns at every step from
the window of the last samples: the new one takes the place of the oldest. A seed draws the weights,
the order, and which samples are kept to be tested on.

Data sets are known by their files: one digits.csv.gz of scikit-learn; one NAME-images-idx3-ubyte
(or .gz) of MNIST with its NAME-labels-idx1-ubyte beside it; data_batch_1.bin,... of CIFAR-10.

Columns
  test %      share of the test samples that the network at the end classifies right
  difference  to the first row of the same window, seed by seed
  unseen %    share of the samples of the first pass that were classified right before anything was
              learned from them
  s           seconds a run

The same command gives the same figures, but for the seconds.

Examples
  millrace evaluate labels --data digits.csv.gz
  millrace evaluate labels --data digits.csv.gz --schedules sequential,partime --window 64,256,1024
  millrace evaluate labels --data digits.csv.gz --schedules partime --label-delay 32 --out late.json)";

void AddData(CLI::App& labels, EvaluateLabelsArguments& arguments) {
  labels.add_option("--data", arguments.data, "The files of a data set")
      ->delimiter(',')
      ->required();
  labels.add_option("--test-data", arguments.test_data, "Test on these, and learn from all --data")
      ->delimiter(',');
  labels
      .add_option("--test-share", arguments.test_share,
                  "Without --test-data: the share of the samples to test on")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  pipeline::LabelTrialOptions& trial = arguments.trial;
  labels.add_option("--passes", trial.passes, "Times that each sample comes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels
      .add_option(
          "--label-delay", trial.label_delay,
          "A label comes after the prediction of the sample so many later, less one; 0: with "
          "its own sample")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  labels
      .add_option("--labelled-share", trial.labelled_share,
                  "The share of the samples whose labels ever come")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

void AddSchedules(CLI::App& labels, EvaluateLabelsArguments& arguments) {
  labels.add_option("--schedules", arguments.schedules, "Which schedules")
      ->delimiter(',')
      ->check(ScheduleName())
      ->capture_default_str();
  labels.add_option("--stages", arguments.stages, "Numbers of stages, of all but sequential")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels.add_option("--window", arguments.windows, "Samples learned from at each step")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels.add_option("--seeds", arguments.seeds, "Runs of each, with other seeds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels
      .add_option("--switch-share", arguments.switch_share,
                  "Of hybrid: the share of the samples after which it becomes sequential")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  labels
      .add_option("--micro-batches", arguments.trial.learner.request.samples,
                  "Steps of a pattern: gpipe, timeprest, pipedream_2bw, k_periodic")
      ->check(CLI::PositiveNumber);
  labels
      .add_option("--recompute", arguments.recompute,
                  "Of gpipe, which steps go forward twice: always, except_last or never")
      ->capture_default_str();
}

void AddNetwork(CLI::App& labels, EvaluateLabelsArguments& arguments) {
  pipeline::LabelTaskOptions& task = arguments.trial.task;
  labels.add_option("--model", task.model,
                    "In place of --network: one saved by torch.jit, its children are the layers");
  labels
      .add_option("--network", task.network,
                  "Of " + absl::StrJoin(pipeline::LabelNetworkNames(), ", "))
      ->capture_default_str();
  labels.add_option("--layers", task.layers, "Of the network")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels.add_option("--width", task.width, "Numbers, or channels, of a layer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace

void AddEvaluateLabels(CLI::App& evaluate, EvaluateLabelsArguments& arguments) {
  pipeline::LabelTrialOptions& trial = arguments.trial;
  trial.learner.optimizer.learning_rate = 0.01;
  CLI::App* labels = evaluate.add_subcommand(
      "labels", "How well classes are learned under each schedule, on data that are known");
  AddData(*labels, arguments);
  AddSchedules(*labels, arguments);
  AddNetwork(*labels, arguments);
  AddOptimizer(*labels, arguments.optimizer, trial.learner.optimizer);
  labels
      ->add_option(
          "--score-every", trial.score_every,
          "Test after every so many samples, too: in the file of --out. 0: only at the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  labels
      ->add_option("--threads-per-stage", trial.learner.threads_per_stage,
                   "Threads in an operation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels->add_option("-o,--out", arguments.out, "Write everything to this file, too (JSON)");
  labels->footer(kFooter);
}

}  // namespace millrace::service
