# The rewards are built beside tests/run/test_relabel.c, the domain beside tests/cli/test_named_plugins.c.
add_dependencies(${target} test_run_relabel test_cli_named_plugins)

# Users copy the folder and build it by itself.
set(copy ${CMAKE_BINARY_DIR}/tests/reward-copy)
add_test(NAME cli/reward_template_copy
         COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/examples/reward ${copy})
set_tests_properties(cli/reward_template_copy PROPERTIES FIXTURES_SETUP reward_copy)
find_program(PLAIN_MAKE make)
if(PLAIN_MAKE)
  add_test(NAME cli/reward_template_make
           COMMAND ${PLAIN_MAKE} -B -C ${copy} WAKER_INCLUDE=${CMAKE_SOURCE_DIR}/include)
  set_tests_properties(cli/reward_template_make PROPERTIES FIXTURES_REQUIRED reward_copy)
endif()
