# MuJoCo from MUJOCO_DIR (an unpacked release, or a folder made by tools/mujoco-wheel) or from the system.
# Defines Mujoco::Mujoco and MUJOCO_LIBRARY.
if(MUJOCO_DIR)
  waker_find(MUJOCO mujoco UNDER ${MUJOCO_DIR})
else()
  waker_find(MUJOCO mujoco)
endif()
file(STRINGS ${MUJOCO_INCLUDE}/mujoco/mujoco.h _mujoco_version REGEX "#define mjVERSION_HEADER +[0-9]+")
string(REGEX REPLACE "[^0-9]" "" MUJOCO_VERSION_NUMBER "${_mujoco_version}")
message(STATUS "MuJoCo ${MUJOCO_VERSION_NUMBER}: ${MUJOCO_LIBRARY}")
add_library(Mujoco::Mujoco SHARED IMPORTED)
set_target_properties(Mujoco::Mujoco PROPERTIES IMPORTED_LOCATION ${MUJOCO_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES ${MUJOCO_INCLUDE})
