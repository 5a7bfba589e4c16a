# The test counts allocations: the linker routes them through its own functions.
foreach(call malloc calloc realloc aligned_alloc)
  target_link_options(${target} PRIVATE -Wl,--wrap=${call})
endforeach()
