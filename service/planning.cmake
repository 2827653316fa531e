# millrace_planning: what `millrace plan` says before anything runs. Links no LibTorch.
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)

add_library(millrace_planning
  cli_drawings.cc
  cli_plan.cc
  cli_values.cc
  cmd_plan.cc
  costs_file.cc
  drawing_files.cc
  plan_auto.cc
  plan_cut.cc
  plan_drawing.cc
  plan_json.cc
  plan_loads.cc
  plan_report.cc
  plan_table.cc
  run_drawing.cc
  schedule_pictures.cc
  spread.cc
  text_table.cc)
add_library(millrace::planning ALIAS millrace_planning)
target_link_libraries(millrace_planning
  PUBLIC millrace::plan
  PRIVATE CLI11::CLI11 absl::strings absl::str_format nlohmann_json::nlohmann_json)

# Draws docs/schedules/*.svg again, and prints the table of docs/schedules.md:
# cmake --build build/release --target schedule_pictures
add_executable(millrace_schedule_pictures schedule_pictures_main.cc)
target_link_libraries(millrace_schedule_pictures PRIVATE millrace::planning)
add_custom_target(schedule_pictures
  COMMAND millrace_schedule_pictures ${PROJECT_SOURCE_DIR}/docs/schedules
  VERBATIM)
