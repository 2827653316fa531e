// Finished runs of `millrace evaluate flow` as files, so that an interrupted evaluation continues.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "pipeline/comparison/flow_evaluation.h"
#include "service/commands/evaluate/evaluate_flow_command.h"

namespace millrace::service {

/// A file for each run and reference. Its name has a checksum of everything that the result depends
/// on: the program, the options and the input. So a result of another program or input is not
/// found. A file that cannot be read is not found either, and is replaced. Of inputs that are no
/// file and no folder, such as URIs and patterns, it keeps nothing. Thread-safe.
class FlowRunsFolder final : public pipeline::FlowResultStore {
 public:
  /// Makes `folder` when it keeps the first result. `arguments` must be prepared, and outlive this
  /// object. Reads the whole program and the initial weights.
  FlowRunsFolder(std::string folder, const EvaluateFlowArguments& arguments);

  [[nodiscard]] std::optional<pipeline::FlowEvaluation::Reference> FindReference(
      const std::string& name, std::size_t clip) const override;
  [[nodiscard]] std::optional<pipeline::FlowEvaluation::Run> FindRun(
      const pipeline::FlowRunName& name) const override;
  [[nodiscard]] absl::Status Keep(const pipeline::FlowEvaluation::Reference& reference) override;
  [[nodiscard]] absl::Status Keep(const pipeline::FlowEvaluation::Run& run) override;

  /// The number of results found so far.
  [[nodiscard]] int found() const { return found_; }

 private:
  [[nodiscard]] nlohmann::json KeyOf(const std::string& name, std::size_t clip) const;
  [[nodiscard]] nlohmann::json KeyOf(const pipeline::FlowRunName& name) const;
  [[nodiscard]] std::string PathOf(const std::string& title, const nlohmann::json& key) const;
  template <typename Result>
  [[nodiscard]] std::optional<Result> Find(const std::string& title,
                                           const nlohmann::json& key) const;
  [[nodiscard]] absl::Status Write(const std::string& title, const nlohmann::json& key,
                                   const nlohmann::json& result) const;

  const std::string folder_;
  const pipeline::FlowEvaluationOptions& options_;
  nlohmann::json common_;                // The part of all keys.
  std::vector<nlohmann::json> weights_;  // A checksum of each file.
  bool is_known_ = false;                // Whether all inputs are files or folders that are there.
  mutable std::atomic<int> found_ = 0;
};

}  // namespace millrace::service
