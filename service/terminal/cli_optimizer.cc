#include "service/terminal/cli_optimizer.h"

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_join.h"

namespace millrace::service {

void AddOptimizer(CLI::App& command, std::string& name, pipeline::OptimizerOptions& optimizer) {
  command.add_option("--optimizer", name, absl::StrJoin(pipeline::OptimizerNames(), ", "))
      ->capture_default_str();
  command.add_option("--learning-rate", optimizer.learning_rate, "The learning rate")
      ->capture_default_str();
  command.add_option("--momentum", optimizer.momentum, "Of sgd")->capture_default_str();
  command.add_flag("--nesterov", optimizer.nesterov, "Nesterov's momentum, of sgd");
  command.add_option("--weight-decay", optimizer.weight_decay, "Weight decay")
      ->capture_default_str();
  command.add_option("--beta1", optimizer.beta1, "Of adam, adamw and nadamw")
      ->capture_default_str();
  command.add_option("--beta2", optimizer.beta2, "Of adam, adamw and nadamw")
      ->capture_default_str();
  command.add_option("--eps", optimizer.eps, "Of all but sgd")->capture_default_str();
  command
      .add_option("--clip-norm", optimizer.clip_norm,
                  "Scale gradients of a stage down to this norm; 0: do not")
      ->capture_default_str();
  command
      .add_option("--clip-update", optimizer.clip_update,
                  "Of rmsprop: scale an update of a tensor down to this many learning rates (root "
                  "mean square); 0: do not")
      ->capture_default_str();
  command
      .add_option("--pipemare-steps", optimizer.pipemare_steps,
                  "Updates in which a stage with late gradients reaches the learning rate; 0: at "
                  "once")
      ->capture_default_str();
  command.add_flag("--spike-compensation", optimizer.spike_compensation,
                   "Apply at once the steps of sgd's momentum that a late gradient missed");
}

}  // namespace millrace::service
