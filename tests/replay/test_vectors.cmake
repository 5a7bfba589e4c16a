target_sources(${target} PRIVATE replay/episodes.c replay/script.c)
