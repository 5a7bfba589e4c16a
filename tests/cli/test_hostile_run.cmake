add_dependencies(${target} test_run_relabel)
set_tests_properties(${name} PROPERTIES TIMEOUT 3600 COST 60)
