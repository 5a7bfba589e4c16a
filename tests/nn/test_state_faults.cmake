include(${CMAKE_SOURCE_DIR}/tests/support/faults.cmake)
