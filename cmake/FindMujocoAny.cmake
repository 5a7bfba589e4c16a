# MuJoCo from MUJOCO_DIR (an unpacked release, or a folder made by tools/mujoco-wheel) or from the system.
# Defines Mujoco::Mujoco, MUJOCO_LIBRARY, MUJOCO_VERSION (4.0.1) and MUJOCO_TESTED, the versions of tools/mujoco-versions.
if(MUJOCO_DIR)
  waker_find(MUJOCO mujoco UNDER ${MUJOCO_DIR})
else()
  waker_find(MUJOCO mujoco)
endif()

# The header counts 222 for 2.2.2 and 3017000 for 3.17.0.
file(STRINGS ${MUJOCO_INCLUDE}/mujoco/mujoco.h _number REGEX "#define mjVERSION_HEADER +[0-9]+")
string(REGEX REPLACE "[^0-9]" "" _number "${_number}")
set(_base 1000)
if(_number LESS 10000)
  set(_base 10)
endif()
math(EXPR _major "${_number} / ${_base} / ${_base}")
math(EXPR _minor "${_number} / ${_base} % ${_base}")
math(EXPR _patch "${_number} % ${_base}")
set(MUJOCO_VERSION ${_major}.${_minor}.${_patch})

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/mujoco-versions)
file(STRINGS ${CMAKE_SOURCE_DIR}/tools/mujoco-versions MUJOCO_TESTED REGEX "^[0-9]")
list(TRANSFORM MUJOCO_TESTED REPLACE " .*" "")
message(STATUS "MuJoCo ${MUJOCO_VERSION}: ${MUJOCO_LIBRARY}")
if(NOT MUJOCO_VERSION IN_LIST MUJOCO_TESTED)
  list(JOIN MUJOCO_TESTED ", " _tested)
  message(WARNING "MuJoCo ${MUJOCO_VERSION} is not among the versions that waker is tested with: ${_tested}.")
endif()
add_library(Mujoco::Mujoco SHARED IMPORTED)
set_target_properties(Mujoco::Mujoco PROPERTIES IMPORTED_LOCATION ${MUJOCO_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES ${MUJOCO_INCLUDE})
