# Redirects the calls that support/power_loss.h records: all that change a file system.
foreach(call open openat close write pwrite ftruncate fsync mkdir mkdirat unlink unlinkat rmdir rename renameat)
  target_link_options(${target} PRIVATE -Wl,--wrap=${call})
endforeach()
