add_dependencies(${target} waker plugin_marker1)
