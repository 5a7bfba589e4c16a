add_dependencies(${target} waker)
set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 COST 100)
