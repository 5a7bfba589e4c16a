# Redirects the calls that support/faults.h can make fail or counts. layering/file_calls holds this list against what
# the library calls.
foreach(call malloc calloc realloc aligned_alloc strdup free open openat close fstat stat fstatat realpath opendir fdopendir readdir
             closedir mkdir mkdirat read pread write pwrite ftruncate fsync rename renameat unlink unlinkat rmdir flock
             pthread_create)
  target_link_options(${target} PRIVATE -Wl,--wrap=${call})
endforeach()
