target_sources(${target} PRIVATE replay/folder.c replay/log_craft.c)
