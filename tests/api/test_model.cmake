add_dependencies(${target} waker)
include(${CMAKE_CURRENT_SOURCE_DIR}/plugins/grid.cmake)
