# Tests of the program, HTTP, metrics and the live page.
millrace_add_test(service_web
  SOURCES
    connection_bounds_test.cc
    debug_trace_test.cc
    flow_colors_test.cc
    http_probes_test.cc
    http_server_test.cc
    jpeg_test.cc
    labels_shown_test.cc
    live_page_pictures_test.cc
    live_page_test.cc
    log_limit_test.cc
    metrics_page_test.cc
    metrics_test.cc
    open_files_test.cc
    page_control_test.cc
    page_host_test.cc
    progress_test.cc
    self_dial_test.cc
    serve_web_test.cc
    summary_recorder_test.cc
    summary_test.cc
    tcp_server_test.cc
  LIBS millrace::web PkgConfig::TURBOJPEG)
target_compile_definitions(service_web_test PRIVATE
  MILLRACE_PROMTOOL="${PROJECT_SOURCE_DIR}/.deps/prometheus/usr/bin/promtool"
  MILLRACE_DOCS="${PROJECT_SOURCE_DIR}/docs")

# A real web server with a made-up stream, and a real browser that looks at it.
add_executable(millrace_demo_server demo_server.cc)
target_link_libraries(millrace_demo_server PRIVATE millrace::web)

if(MILLRACE_STRICT_TARGETS_ONLY)
  return()
endif()

set(millrace_python ${PROJECT_SOURCE_DIR}/.deps/venv/bin/python)
foreach(name live_page narrow_page overview page_control standing)
  add_test(NAME service_page.${name}
           COMMAND ${millrace_python} ${CMAKE_CURRENT_SOURCE_DIR}/${name}_browser_test.py
                   $<TARGET_FILE:millrace_demo_server>)
  set_tests_properties(service_page.${name} PROPERTIES
    ENVIRONMENT "PYTHONPATH=${PROJECT_SOURCE_DIR}/tests;PYTHONDONTWRITEBYTECODE=1")
  millrace_limit_time(240 service_page.${name})
endforeach()

find_package(spdlog REQUIRED)
millrace_add_test(service_program
  SOURCES cli_help_test.cc grpc_log_test.cc labels_report_test.cc machine_check_test.cc serve_banner_test.cc
          serve_signals_test.cc
          watch_failure_test.cc watch_output_test.cc watch_status_test.cc
  LIBS millrace::program nlohmann_json::nlohmann_json spdlog::spdlog)

# What a camera's stream is, where its file says little.
millrace_add_test(service_camera
  SOURCES camera_fit_test.cc cmd_init_test.cc config_defaults_test.cc warm_start_test.cc
  LIBS millrace::program)
target_compile_definitions(service_camera_test PRIVATE MILLRACE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# Evaluations: what is made of them, and the clips that are read here.
millrace_add_test(service_evaluation
  SOURCES evaluation_report_test.cc progress_bar_test.cc reference_comparison_test.cc
          spurious_motion_test.cc video_clip_test.cc
  LIBS millrace::program millrace_test_media)
target_compile_definitions(service_evaluation_test PRIVATE
  MILLRACE_FLOW_START="${PROJECT_SOURCE_DIR}/samples/weights/flow-start.safetensors")

# What reads secrets of files, over hundreds of them.
add_executable(millrace_secret_reader secret_reader.cc)
target_link_libraries(millrace_secret_reader PRIVATE millrace::program millrace::ingest)

set(environment
  MILLRACE_PROGRAM=$<TARGET_FILE:millrace>
  MILLRACE_SECRET_READER=$<TARGET_FILE:millrace_secret_reader>
  PYTHONPATH=${PROJECT_SOURCE_DIR}/tests:${PROJECT_SOURCE_DIR}/clients/python/tests:$<TARGET_PROPERTY:millrace_python_client,BINARY_DIR>/package
  PYTHONDONTWRITEBYTECODE=1)
if(MILLRACE_SANITIZE)
  list(APPEND environment MILLRACE_STOP_LIMIT_S=60)
endif()
foreach(name bench cli evaluate_flow evaluate_labels secrets serve terminal watch)
  add_test(NAME service_program.${name}
           COMMAND ${millrace_python} ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.py)
  set_tests_properties(service_program.${name} PROPERTIES ENVIRONMENT "${environment}")
  millrace_limit_time(300 service_program.${name})
endforeach()
