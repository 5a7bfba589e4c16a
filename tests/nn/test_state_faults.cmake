include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
target_sources(${target} PRIVATE nn/small_net.c)
