# The commands of the program within the test, with their main under another name: waker_main.
file(GLOB commands CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
target_sources(${target} PRIVATE ${commands})
target_compile_definitions(${target} PRIVATE WAKER_VERSION="${PROJECT_VERSION}" WAKER_MUJOCO_TESTED="")
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/cli/main.c PROPERTIES COMPILE_DEFINITIONS main=waker_main COMPILE_OPTIONS
                            -Wno-missing-prototypes)
