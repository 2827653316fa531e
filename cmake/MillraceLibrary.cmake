# millrace_library(<folder> SOURCES <file>... [ALONE <file>...] [DEPENDS <folder>...] [USES <folder>...]
#                  [LINKS <target>...] [PRIVATE_LINKS <target>...])
#
# The library of a folder: millrace::pipeline_plan of pipeline/plan. DEPENDS names the folders that its headers include, USES the folders
# that only its sources include. LINKS and PRIVATE_LINKS do the same for third-party libraries.
#
# Each library has its own include root, which shows only its folder. So an include of a folder that is not linked does not compile. A
# folder within a folder (pipeline/ops/cpu) is visible to all targets that link the outer one.
function(millrace_include_root folder out)
  string(REPLACE "/" "_" name ${folder})
  set(root ${PROJECT_BINARY_DIR}/roots/${name})
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${root}/${folder} SYMBOLIC)
  set(${out} ${root} PARENT_SCOPE)
endfunction()

# millrace_targets(<variable> <folder>...): the libraries of folders.
function(millrace_targets out)
  set(targets ${ARGN})
  list(TRANSFORM targets REPLACE "/" "_")
  list(TRANSFORM targets PREPEND millrace::)
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# millrace_unite(<target> [<file>...]): with MILLRACE_UNITY, up to six sources of the target are one unit for the compiler, which reads
# their common headers once. The files stay alone, because they have names in common with other ones.
function(millrace_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MILLRACE_UNITY} UNITY_BUILD_BATCH_SIZE 6)
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

function(millrace_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ALONE;DEPENDS;USES;LINKS;PRIVATE_LINKS")
  string(REPLACE "/" "_" name ${folder})
  millrace_include_root(${folder} root)
  millrace_targets(depends ${arg_DEPENDS})
  millrace_targets(uses ${arg_USES})
  add_library(millrace_${name} ${arg_SOURCES})
  add_library(millrace::${name} ALIAS millrace_${name})
  millrace_unite(millrace_${name} ${arg_ALONE})
  target_include_directories(millrace_${name} PUBLIC ${root})
  if(MILLRACE_SANITIZE MATCHES address)
    # Tests of the engine and of networks take a third of the time, for little more of the compiler's.
    # With a sanitizer GCC 12 takes members of LibTorch's guards for uninitialized.
    target_compile_options(millrace_${name} PRIVATE -O1 -Wno-maybe-uninitialized)
  endif()
  target_link_libraries(millrace_${name}
    PUBLIC millrace::options ${depends} ${arg_LINKS} PRIVATE ${uses} ${arg_PRIVATE_LINKS})
endfunction()

# millrace_use_headers(<target> <folder>...): only the headers of these folders, for a module. The program that loads the module has the
# folders' code.
function(millrace_use_headers target)
  foreach(folder IN LISTS ARGN)
    string(REPLACE "/" "_" name ${folder})
    target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:millrace_${name},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
endfunction()
