target_sources(${target} PRIVATE replay/episodes.c)
