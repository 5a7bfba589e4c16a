include(${CMAKE_SOURCE_DIR}/tests/support/faults.cmake)
target_sources(${target} PRIVATE replay/episodes.c)
