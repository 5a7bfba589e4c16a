target_link_options(${target} PRIVATE -Wl,--wrap=flock)
