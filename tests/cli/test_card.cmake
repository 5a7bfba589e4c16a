add_dependencies(${target} waker)
