add_dependencies(${target} waker)
set_tests_properties(${name} PROPERTIES TIMEOUT 1800)
set_tests_properties(${name} PROPERTIES LABELS native) # killed processes report nothing to sanitizers
