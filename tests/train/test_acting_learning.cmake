set_tests_properties(${name} PROPERTIES LABELS learning TIMEOUT 600 COST 60)
