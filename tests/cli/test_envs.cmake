add_dependencies(${target} waker plugin_ball plugin_bad_name plugin_reward_nan
                 plugin_message_escapes)
