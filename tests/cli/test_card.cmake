add_dependencies(${target} test_run_relabel) # whose rewards it takes
