include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
# The commands themselves, with their main under another name.
file(GLOB commands CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
target_sources(${target} PRIVATE ${commands})
target_compile_definitions(${target} PRIVATE WAKER_VERSION="${PROJECT_VERSION}" WAKER_MUJOCO_TESTED="")
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/cli/main.c PROPERTIES COMPILE_DEFINITIONS main=waker_main COMPILE_OPTIONS
                            -Wno-missing-prototypes)
set_tests_properties(${name} PROPERTIES TIMEOUT 3600 COST 60)
if(WAKER_SANITIZE) # ten times as slow: the strides are longer
  set_tests_properties(${name} PROPERTIES ENVIRONMENT WAKER_FAULT_STRIDE=61)
endif()
add_dependencies(${target} test_run_relabel) # whose rewards it takes
