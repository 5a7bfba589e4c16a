list(JOIN MUJOCO_TESTED ", " tested)
target_compile_definitions(${target} PRIVATE WAKER_VERSION="${PROJECT_VERSION}" WAKER_MUJOCO_TESTED="${tested}" MUJOCO_VERSION="${MUJOCO_VERSION}")
