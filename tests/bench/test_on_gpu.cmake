add_dependencies(${target} bench_update bench_population)
