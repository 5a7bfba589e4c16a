target_sources(${target} PRIVATE replay/episodes.c replay/folder.c replay/script.c)
