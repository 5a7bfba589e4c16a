add_dependencies(${target} waker plugin_ball)
set_tests_properties(${name} PROPERTIES COST 60)
