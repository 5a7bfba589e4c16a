# Sanitizers and coverage want programs that are linked with them; only plain builds are installed.
add_dependencies(${target} installable)
if(WAKER_SANITIZE OR WAKER_COVERAGE)
  target_compile_definitions(${target} PRIVATE INSTRUMENTED)
endif()
if(CMAKE_BUILD_TYPE STREQUAL Release)
  target_compile_definitions(${target} PRIVATE RELEASE)
endif()
