add_dependencies(${target} waker plugin_ball plugin_bad_name plugin_reward_nan)
set_tests_properties(${name} PROPERTIES ENVIRONMENT
  "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/osmesa.supp:print_suppressions=0")
