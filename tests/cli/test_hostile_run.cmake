add_dependencies(${target} waker)
set_tests_properties(${name} PROPERTIES TIMEOUT 900 COST 60)
