# The web side (millrace_web: HTTP, metrics, the live page) and the program `millrace`.
find_package(Boost 1.74 REQUIRED)  # Headers alone: Asio and Beast.
find_package(Threads REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)

set(millrace_page_files answer.js badges.js card.js chart.js controls.js favicon.svg index.html overview.js page.css page.js
    pictures.js pipeline.js reasons.js standing.js text.js token.js)
list(TRANSFORM millrace_page_files PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/page/)
list(JOIN millrace_page_files "," millrace_page_list)
add_custom_command(
  OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/live_page_assets.cc
  COMMAND ${CMAKE_COMMAND} -D OUTPUT=${CMAKE_CURRENT_BINARY_DIR}/live_page_assets.cc
          -D FILES=${millrace_page_list} -P ${CMAKE_CURRENT_SOURCE_DIR}/page/embed.cmake
  DEPENDS ${millrace_page_files} ${CMAKE_CURRENT_SOURCE_DIR}/page/embed.cmake
  COMMENT "Embedding the live page"
  VERBATIM)

add_library(millrace_web
  connection_bounds.cc
  debug_trace.cc
  http_exchange.cc
  http_message.cc
  http_probes.cc
  http_server.cc
  untaken_answers.cc
  labels_json.cc
  learner_changes.cc
  live_page.cc
  live_page_json.cc
  live_page_viewers.cc
  log_counts.cc
  log_limit.cc
  metrics.cc
  metrics_family.cc
  metrics_labels.cc
  metrics_process.cc
  metrics_reading.cc
  metrics_states.cc
  metrics_stream.cc
  metrics_totals.cc
  open_files.cc
  page_control.cc
  page_host.cc
  progress.cc
  progress_bar.cc
  self_dial.cc
  serve_web.cc
  summary.cc
  tcp_server.cc
  terminal.cc
  ${CMAKE_CURRENT_BINARY_DIR}/live_page_assets.cc)
add_library(millrace::web ALIAS millrace_web)
target_include_directories(millrace_web SYSTEM PUBLIC ${Boost_INCLUDE_DIRS})
set_source_files_properties(live_page.cc metrics.cc summary.cc PROPERTIES
  COMPILE_DEFINITIONS MILLRACE_VERSION="${PROJECT_VERSION}")
set_property(SOURCE metrics.cc APPEND PROPERTY COMPILE_DEFINITIONS
  MILLRACE_CUDA="$<IF:$<TARGET_EXISTS:millrace_cuda_kernels>,true,false>")
target_link_libraries(millrace_web
  PUBLIC millrace::access millrace::base millrace::streams prometheus-cpp::core nlohmann_json::nlohmann_json
          spdlog::spdlog Threads::Threads
  PRIVATE millrace::plan absl::cleanup absl::strings absl::str_format absl::time)

if(MILLRACE_STRICT_TARGETS_ONLY)
  return()
endif()

find_package(CLI11 CONFIG REQUIRED)

# The server and its commands, as a library so that tests can link it.
add_library(millrace_program
  bench_report.cc
  camera_fit.cc
  cli.cc
  cli_bench.cc
  cli_evaluate_flow.cc
  cli_evaluate_labels.cc
  cli_help.cc
  cli_init.cc
  cli_log.cc
  cli_manual.cc
  cli_optimizer.cc
  cli_replay.cc
  cmd_bench.cc
  cmd_check_config.cc
  cmd_evaluate_flow.cc
  cmd_evaluate_labels.cc
  cmd_export.cc
  cmd_init.cc
  address_space.cc
  evaluation_json.cc
  evaluation_metrics.cc
  evaluation_plots.cc
  evaluation_table.cc
  gnuplot.cc
  grpc_log.cc
  cmd_pretrain.cc
  cmd_replay.cc
  cmd_serve.cc
  cmd_watch.cc
  watch_calls.cc
  watch_channel.cc
  watch_failure.cc
  watch_output.cc
  watch_states.cc
  watch_status.cc
  labels_report.cc
  mean_and_deviation.cc
  machine.cc
  machine_check.cc
  measure_model.cc
  reference_comparison.cc
  serve.cc
  serve_banner.cc
  serve_signals.cc
  systemd_notifier.cc
  video_clip.cc)
add_library(millrace::program ALIAS millrace_program)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET GLOBAL jemalloc)
set_source_files_properties(cli.cc evaluation_json.cc serve_banner.cc PROPERTIES
  COMPILE_DEFINITIONS MILLRACE_VERSION="${PROJECT_VERSION}")
target_link_libraries(millrace_program
  PUBLIC millrace::web millrace::planning millrace::service millrace::pipeline millrace::ingest
         millrace::flow_evaluation
  PRIVATE CLI11::CLI11 spdlog::spdlog PkgConfig::SYSTEMD)

# For the programs of main.cc alone. A sanitizer has an allocator of its own.
add_library(millrace_allocator INTERFACE)
add_library(millrace::allocator ALIAS millrace_allocator)
if(NOT MILLRACE_SANITIZE)
  target_link_libraries(millrace_allocator INTERFACE PkgConfig::JEMALLOC)
endif()

add_executable(millrace main.cc)
target_link_libraries(millrace PRIVATE millrace::program millrace::allocator)
# As tools/install lays it out: what it loads lies beside it, wherever that is.
set_target_properties(millrace PROPERTIES
  INSTALL_RPATH "$ORIGIN/../lib/millrace:$ORIGIN/../lib/millrace/torch/lib")
install(TARGETS millrace RUNTIME DESTINATION bin)
