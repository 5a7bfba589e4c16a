add_dependencies(${target} plugin_marker1)
# killed processes report nothing to sanitizers, which see sweep/slurm_real
set_tests_properties(${name} PROPERTIES LABELS native COST 100)
