target_sources(${target} PRIVATE replay/folder.c)
