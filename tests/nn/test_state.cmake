target_sources(${target} PRIVATE nn/small_net.c)
