# OpenCv::core, OpenCv::imgproc, OpenCv::imgcodecs, OpenCv::video: single modules of Debian's OpenCV.
# Only libopencv-dev has its CMake package, and it depends on half a gigabyte of other modules.
find_path(OpenCv_INCLUDE_DIR opencv2/core.hpp PATH_SUFFIXES opencv4 REQUIRED)
mark_as_advanced(OpenCv_INCLUDE_DIR)
foreach(module core imgproc imgcodecs video)
  if(TARGET OpenCv::${module})
    continue()
  endif()
  find_library(OpenCv_${module}_LIBRARY opencv_${module} REQUIRED)
  mark_as_advanced(OpenCv_${module}_LIBRARY)
  add_library(OpenCv::${module} UNKNOWN IMPORTED)
  set_target_properties(OpenCv::${module} PROPERTIES
    IMPORTED_LOCATION "${OpenCv_${module}_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${OpenCv_INCLUDE_DIR}")
endforeach()
