if(WAKER_HAVE_CUDA)
  target_compile_definitions(${target} PRIVATE BUILT_WITH_CUDA)
endif()
