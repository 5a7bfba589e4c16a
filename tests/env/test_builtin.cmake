# Examines every built-in domain, which sanitizers make slow.
set_tests_properties(${name} PROPERTIES TIMEOUT 1200 COST 30)
include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
