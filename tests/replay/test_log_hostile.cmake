target_sources(${target} PRIVATE replay/log_craft.c)
