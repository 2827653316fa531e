#include "pipeline/learner/reference_flow_names.h"

namespace millrace::pipeline {

const std::vector<std::string>& ReferenceFlowNames() {
  static const std::vector<std::string> names = {
      "none", "prior", "dis", "dis_fine", "dis_fast", "dis_ultrafast", "farneback"};
  return names;
}

}  // namespace millrace::pipeline
