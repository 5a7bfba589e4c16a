# The trainer makes its backend itself; the test changes what it gets.
target_link_options(${target} PRIVATE -Wl,--wrap=wk_backend_cpu_create)
