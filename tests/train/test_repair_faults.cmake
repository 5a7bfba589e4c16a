include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
set_tests_properties(${name} PROPERTIES TIMEOUT 900 COST 20)
