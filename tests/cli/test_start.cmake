add_dependencies(${target} plugin_marker1)
