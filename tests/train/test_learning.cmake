include(${CMAKE_CURRENT_SOURCE_DIR}/plugins/grid.cmake)
set_tests_properties(${name} PROPERTIES LABELS learning TIMEOUT 900 COST 100)
