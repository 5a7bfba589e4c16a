# Redirects the calls that support/faults.h can make fail or counts.
foreach(call malloc calloc realloc aligned_alloc strdup free open close fstat read pread write pwrite
             ftruncate fsync rename pthread_create)
  target_link_options(${target} PRIVATE -Wl,--wrap=${call})
endforeach()
