# millrace_flow: what learns optical flow. The network, its loss and optimizer, the generated stream
# and the warm start. Knows nothing of plans or threads.
find_package(LibTorch REQUIRED)
find_package(nlohmann_json REQUIRED)

add_library(millrace_flow
  adam.cc batch_statistics.cc convolutions.cc correlation.cc finite.cc flow_levels.cc flow_loss.cc
  flow_network.cc flow_networks.cc flow_terms.cc flownets.cc generated_scene.cc
  generated_stream.cc ndconv.cc occlusion.cc open_flow_network.cc operator_hook.cc optimizer.cc optimizers.cc
  pretrain.cc resunet.cc rmsprop.cc safetensors.cc seeded_draws.cc sgd.cc stage.cc stage_buffers.cc tensor_file.cc texture.cc torchscript_chain.cc
  unit_layers.cc warp.cc weights_file.cc)
add_library(millrace::flow ALIAS millrace_flow)
target_link_libraries(millrace_flow
  PUBLIC LibTorch::cpu millrace::learning millrace::base millrace::options absl::status absl::statusor
  PRIVATE absl::strings nlohmann_json::nlohmann_json)
# Otherwise the operators of tensors would bring every operation's header with them.
target_compile_definitions(millrace_flow PRIVATE AT_PER_OPERATOR_HEADERS)
# -O2 leaves the loops of the comparison scalar, and three times as slow.
set_source_files_properties(correlation.cc PROPERTIES COMPILE_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O3>)
# The stream's bytes are pinned: no product and sum may be joined into one rounding.
set_source_files_properties(generated_scene.cc texture.cc PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
