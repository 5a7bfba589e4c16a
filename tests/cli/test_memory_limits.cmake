set_tests_properties(${name} PROPERTIES LABELS native) # sanitizers reserve more than any limit
