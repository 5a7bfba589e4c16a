include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
if(WAKER_SANITIZE) # every fifth call fails: all takes ten times as long
  set_tests_properties(${name} PROPERTIES ENVIRONMENT WAKER_FAULT_STRIDE=5)
endif()
