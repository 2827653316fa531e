# The third-party libraries that Millrace links. tests/CMakeLists.txt finds the libraries of tests.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Boost 1.74 REQUIRED) # Headers alone: Asio and Beast.
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(GLIB REQUIRED IMPORTED_TARGET glib-2.0>=2.68)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(TURBOJPEG REQUIRED IMPORTED_TARGET libturbojpeg)
if(MILLRACE_STRICT_TARGETS_ONLY)
  return()
endif()

find_package(LibTorch REQUIRED)
find_package(PNG REQUIRED)
include(OpenCvModules)
pkg_check_modules(GSTREAMER REQUIRED IMPORTED_TARGET
  gio-2.0
  gstreamer-1.0>=1.22
  gstreamer-app-1.0
  gstreamer-pbutils-1.0
  gstreamer-rtsp-1.0
  gstreamer-sdp-1.0
  gstreamer-video-1.0)
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
