# Tests of plans and of `millrace plan`.
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

millrace_add_test(service_planning
  SOURCES
    costs_file_test.cc
    plan_report_test.cc run_drawing_test.cc
    schedule_pictures_test.cc
    spread_test.cc
    text_table_test.cc
  LIBS millrace::planning nlohmann_json::nlohmann_json)
target_compile_definitions(service_planning_test PRIVATE
  MILLRACE_DOCS="${PROJECT_SOURCE_DIR}/docs")

add_executable(millrace_plan_program plan_program.cc)
target_link_libraries(millrace_plan_program PRIVATE millrace::planning CLI11::CLI11)

# The command by itself, and as the program has it.
set(millrace_plan_programs millrace_plan_program)
if(NOT MILLRACE_STRICT_TARGETS_ONLY)
  list(APPEND millrace_plan_programs millrace)
endif()
foreach(program ${millrace_plan_programs})
  add_test(NAME service_plan.${program}
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/plan_test.py)
  set_tests_properties(service_plan.${program} PROPERTIES
    ENVIRONMENT
    "MILLRACE_PROGRAM=$<TARGET_FILE:${program}>;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests;PYTHONDONTWRITEBYTECODE=1")
  millrace_limit_time(120 service_plan.${program})
endforeach()
