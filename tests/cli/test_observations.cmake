include(${CMAKE_CURRENT_SOURCE_DIR}/plugins/grid.cmake)
