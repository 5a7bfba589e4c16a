include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
set_tests_properties(${name} PROPERTIES TIMEOUT 3600 COST 90)
