include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
include(${CMAKE_CURRENT_SOURCE_DIR}/support/waker_main.cmake)
set_tests_properties(${name} PROPERTIES TIMEOUT 3600 COST 60)
if(WAKER_SANITIZE) # ten times as slow: the strides are longer
  set_tests_properties(${name} PROPERTIES ENVIRONMENT WAKER_FAULT_STRIDE=61)
endif()
add_dependencies(${target} test_run_relabel) # whose rewards it takes
