# MuJoCo from MUJOCO_DIR (an unpacked release, or a folder made by tools/mujoco-wheel) or from the system.
# Defines Mujoco::Mujoco and MUJOCO_LIBRARY.
if(MUJOCO_DIR)
  set(_mujoco_search NO_DEFAULT_PATH PATHS ${MUJOCO_DIR})
endif()
find_path(MUJOCO_INCLUDE_DIR mujoco/mujoco.h PATH_SUFFIXES include ${_mujoco_search})
find_library(MUJOCO_LIBRARY NAMES mujoco PATH_SUFFIXES lib ${_mujoco_search})
if(NOT MUJOCO_INCLUDE_DIR OR NOT MUJOCO_LIBRARY)
  if(MUJOCO_DIR)
    message(FATAL_ERROR "No MuJoCo under MUJOCO_DIR=${MUJOCO_DIR}: expected include/mujoco/mujoco.h "
                        "and lib/libmujoco.so there.")
  endif()
  message(FATAL_ERROR "MuJoCo was not found. Run tools/setup (Debian: libmujoco-dev), or give a "
                      "release with -DMUJOCO_DIR=/path/to/mujoco.")
endif()
file(STRINGS ${MUJOCO_INCLUDE_DIR}/mujoco/mujoco.h _mujoco_version REGEX "#define mjVERSION_HEADER +[0-9]+")
string(REGEX REPLACE "[^0-9]" "" MUJOCO_VERSION_NUMBER "${_mujoco_version}")
message(STATUS "MuJoCo ${MUJOCO_VERSION_NUMBER}: ${MUJOCO_LIBRARY}")
add_library(Mujoco::Mujoco SHARED IMPORTED)
set_target_properties(Mujoco::Mujoco PROPERTIES IMPORTED_LOCATION ${MUJOCO_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES ${MUJOCO_INCLUDE_DIR})
