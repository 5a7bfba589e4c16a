set_tests_properties(${name} PROPERTIES COST 20)
