target_sources(${target} PRIVATE nn/golden.c)
