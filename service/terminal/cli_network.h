// The network option that several commands share: its help and its check.
#pragma once

#include <string>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_join.h"
#include "pipeline/learner/flow_network_names.h"

namespace millrace::service {

inline std::string NetworkHelp() {
  return "One of " + absl::StrJoin(pipeline::FlowNetworkNames(), ", ") +
         ", or a network of your own: a file NAME.pt that torch.jit.save() wrote";
}

inline CLI::Validator NetworkCheck() {
  return {[](const std::string& name) {
            return std::string(pipeline::FlowNetworkInputOf(name).status().message());
          },
          "NETWORK"};
}

}  // namespace millrace::service
