# Usage requirements that every target of the project shares.
add_library(millrace_options INTERFACE)
add_library(millrace::options ALIAS millrace_options)
target_compile_features(millrace_options INTERFACE cxx_std_20)
target_compile_options(millrace_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  $<$<BOOL:${MILLRACE_WARNINGS_AS_ERRORS}>:-Werror>)
if(MILLRACE_FUZZ)
  target_compile_options(millrace_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(MILLRACE_SANITIZE)
  target_compile_options(millrace_options INTERFACE
    -fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(millrace_options INTERFACE -fsanitize=${MILLRACE_SANITIZE})
  if(MILLRACE_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Asio has fences, which the sanitizer does not follow. Our data never depends on a fence alone.
    target_compile_options(millrace_options INTERFACE -Wno-tsan)
  endif()
endif()
