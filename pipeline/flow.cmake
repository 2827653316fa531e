# millrace_flow: what learns optical flow. The network, its loss and optimizer, the generated stream
# and the warm start. Knows nothing of plans or threads.
find_package(LibTorch REQUIRED)
find_package(nlohmann_json REQUIRED)

add_library(millrace_flow
  adam.cc archive_error.cc batch_statistics.cc by_operators.cc convolution.cc convolutions.cc device_step.cc finite.cc flow_levels.cc flow_loss.cc
  flow_network.cc flow_networks.cc flow_terms.cc flownets.cc generated_scene.cc
  generated_stream.cc match.cc ndconv.cc next_frame.cc occlusion.cc open_flow_network.cc operator_hook.cc
  optimizer.cc optimizers.cc pickle_check.cc pretrain.cc relative_loss.cc resunet.cc rmsprop.cc safetensors.cc
  seeded_draws.cc sgd.cc stage.cc stage_buffers.cc tensor_archive.cc tensor_file.cc texture.cc torchscript_chain.cc
  unit_layers.cc warp.cc weights_file.cc
  gpu/launch.cc gpu/match.cc gpu/relative_loss.cc gpu/steps.cc
  kernels/best.cc kernels/plain.cc)
add_library(millrace::flow ALIAS millrace_flow)
target_link_libraries(millrace_flow
  PUBLIC LibTorch::cpu millrace::learning millrace::base millrace::options absl::status absl::statusor
  PRIVATE absl::strings nlohmann_json::nlohmann_json millrace::checkpoint_folders)
# Otherwise the operators of tensors would bring every operation's header with them.
target_compile_definitions(millrace_flow PRIVATE AT_PER_OPERATOR_HEADERS)
# The stream's bytes are pinned: no product and sum may be joined into one rounding.
set_source_files_properties(generated_scene.cc texture.cc PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
# LibTorch hides what the sanitizer's check of each call's object compares.
if(MILLRACE_SANITIZE MATCHES undefined)
  set_source_files_properties(tensor_archive.cc PROPERTIES COMPILE_OPTIONS -fno-sanitize=vptr)
endif()
# The inner loops, once for each kind of processor. Optimised in every build: tests go through them
# thousands of times.
set(millrace_kernels kernels/plain.cc)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND millrace_kernels kernels/avx2.cc kernels/avx512.cc)
  target_sources(millrace_flow PRIVATE kernels/avx2.cc kernels/avx512.cc)
  set_source_files_properties(kernels/avx2.cc PROPERTIES COMPILE_FLAGS "-mavx2 -mfma")
  set_source_files_properties(kernels/avx512.cc PROPERTIES
    COMPILE_FLAGS "-mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mprefer-vector-width=512")
endif()
# The same for loops that need not be.
set_source_files_properties(relative_loss.cc PROPERTIES
  COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O3>;-fno-math-errno;-fno-trapping-math")
set_source_files_properties(${millrace_kernels} PROPERTIES
  COMPILE_OPTIONS "-O3;-ffp-contract=fast;-fno-math-errno;-fno-trapping-math")
