add_dependencies(${target} plugin_message_escapes)
