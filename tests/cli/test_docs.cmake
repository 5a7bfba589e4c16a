add_dependencies(${target} plugin_even test_run_relabel)
# Starts every command of the docs; what those run under sanitizers the other tests of cli/ run too.
set_tests_properties(${name} PROPERTIES LABELS native TIMEOUT 3600 COST 100)
