millrace_add_test(flow
  SOURCES flow/convolution_test.cc flow/flow_loss_test.cc flow/flow_network_test.cc
          flow/flow_networks_test.cc flow/flow_terms_test.cc
          flow/generated_scene_test.cc flow/generated_stream_test.cc flow/kernels_test.cc
          flow/match_test.cc flow/next_frame_test.cc flow/occlusion_test.cc flow/environment.cc
          flow/open_flow_network_test.cc flow/optimizer_test.cc
          flow/pretrain_test.cc flow/relative_loss_test.cc flow/rmsprop_test.cc
          flow/seeded_draws_test.cc flow/weights_file_test.cc plain_flow.cc
  LIBS millrace::flow)
# The tests too would otherwise read every operation's header.
target_compile_definitions(flow_test PRIVATE AT_PER_OPERATOR_HEADERS)
