millrace_add_test(service_planning
  SOURCES
    costs_file_test.cc
  LIBS millrace::planning)
