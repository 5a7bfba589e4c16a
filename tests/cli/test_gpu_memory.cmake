set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS gpu)
