add_dependencies(${target} waker plugin_ball plugin_even)
set_tests_properties(${name} PROPERTIES TIMEOUT 900)
