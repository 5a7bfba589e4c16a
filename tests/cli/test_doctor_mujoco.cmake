target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/cli/doctor_mujoco.c)
list(JOIN MUJOCO_TESTED ", " tested)
target_compile_definitions(${target} PRIVATE WAKER_MUJOCO_TESTED="${tested}" MUJOCO_VERSION="${MUJOCO_VERSION}")
