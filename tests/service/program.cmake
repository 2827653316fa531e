# Tests of the program, HTTP, metrics and the live page.
add_executable(millrace_demo_server demo_server.cc)
target_link_libraries(millrace_demo_server PRIVATE millrace::web)
