# millrace_planning: what `millrace plan` says before anything runs. Links no LibTorch.
find_package(nlohmann_json CONFIG REQUIRED)

add_library(millrace_planning
  costs_file.cc)
add_library(millrace::planning ALIAS millrace_planning)
target_link_libraries(millrace_planning
  PUBLIC millrace::plan
  PRIVATE absl::strings absl::str_format nlohmann_json::nlohmann_json)
