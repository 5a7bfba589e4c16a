add_dependencies(${target} waker test_run_relabel)
set_tests_properties(${name} PROPERTIES TIMEOUT 900 COST 60)
