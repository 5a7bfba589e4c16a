# Routes allocation and file calls of the test `target` through tests/support/faults.c.
target_compile_definitions(${target} PRIVATE WAKER_FAULTS)
foreach(call malloc calloc realloc aligned_alloc strdup free open read pread write pwrite
             fsync fstat rename close ftruncate unlink)
  target_link_options(${target} PRIVATE -Wl,--wrap=${call})
endforeach()
