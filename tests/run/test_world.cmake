include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
if(WAKER_HAVE_CUDA)
  target_compile_definitions(${target} PRIVATE BUILT_WITH_CUDA)
endif()
