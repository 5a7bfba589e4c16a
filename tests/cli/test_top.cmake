add_dependencies(${target} waker)
set_tests_properties(${name} PROPERTIES COST 20)
