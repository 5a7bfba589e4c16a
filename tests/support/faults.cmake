# Redirects the calls that support/faults.h can make fail.
foreach(call malloc calloc realloc aligned_alloc strdup read write fsync rename pthread_create)
  target_link_options(${target} PRIVATE -Wl,--wrap=${call})
endforeach()
