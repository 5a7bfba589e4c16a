include(${CMAKE_CURRENT_SOURCE_DIR}/support/power_loss.cmake)
include(${CMAKE_CURRENT_SOURCE_DIR}/support/waker_main.cmake)
set_tests_properties(${name} PROPERTIES TIMEOUT 1800 COST 60)
