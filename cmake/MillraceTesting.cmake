# millrace_add_test(<name> [GPU] SOURCES <file>... [ALONE <file>...] LIBS <target>...)
#
# One test program for each folder of sources. All of its tests run in two processes, NAME.shard_1 and NAME.shard_2:
# a process for each test would spend more time on loading LibTorch than on testing. CTest also knows each test by its
# own name, for `tools/run-tests PRESET -R NAME`, which leaves out the shards. Without -R it leaves out the single
# tests. GPU tests have the label `gpu`, run one at a time, and skip themselves without a device.
include(GoogleTest)

# The environment of Python tests: helpers that tests of several folders share (tests/python), and the built Python client.
set(millrace_python_environment
  PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/python:${PROJECT_BINARY_DIR}/clients/python/package
  PYTHONDONTWRITEBYTECODE=1)

# millrace_limit_time(<seconds> <test>...): sets the tests' time limit; five times as long under AddressSanitizer.
function(millrace_limit_time seconds)
  if(MILLRACE_SANITIZE MATCHES address)
    math(EXPR seconds "${seconds} * 5")
  endif()
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${seconds})
endfunction()

function(millrace_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "GPU" "" "SOURCES;ALONE;LIBS")
  add_executable(${name}_test ${arg_SOURCES})
  millrace_unite(${name}_test ${arg_ALONE})
  target_link_libraries(${name}_test PRIVATE millrace::test_headers ${arg_LIBS} GTest::gmock_main)
  set(properties "")
  if(arg_GPU)
    list(APPEND properties LABELS gpu RESOURCE_LOCK gpu)
  endif()
  if(MILLRACE_SANITIZE MATCHES address)
    # One process for all: each spends seconds on loading LibTorch under AddressSanitizer.
    add_test(NAME ${name} COMMAND ${name}_test)
    if(properties)
      set_tests_properties(${name} PROPERTIES ${properties})
    endif()
    # LeakSanitizer runs here, not in the programs that Python tests start. It needs exact stacks to tell
    # our leaks from those of libraries, and these cost each process seconds while it loads LibTorch.
    # AddressSanitizer replaces dlopen() by its own, which does not know the program's library paths.
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT "ASAN_OPTIONS=fast_unwind_on_malloc=0:malloc_context_size=8;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/lib")
    millrace_limit_time(400 ${name})
    return()
  endif()
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300 ${properties})
  if(arg_GPU)
    return()
  endif()
  foreach(shard RANGE 1 2)
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}.shard_${shard} COMMAND ${name}_test --gtest_brief=1)
    set_tests_properties(${name}.shard_${shard} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${index}")
    millrace_limit_time(600 ${name}.shard_${shard})
  endforeach()
endfunction()
