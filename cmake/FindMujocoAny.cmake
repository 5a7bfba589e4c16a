# MuJoCo from MUJOCO_DIR (an unpacked release, or a folder made by tools/mujoco-wheel); where that is empty from
# build-deps/mujoco, else from the system, as with MUJOCO_DIR=system.
# Defines Mujoco::Mujoco, MUJOCO_LIBRARY, MUJOCO_VERSION (4.0.1) and MUJOCO_TESTED, the versions of tools/mujoco-versions.
# MUJOCO_PACKED is the library's file where it does not come from the system, so that packages have to carry it.
set(_folder ${MUJOCO_DIR})
if(_folder AND NOT _folder STREQUAL system)
  get_filename_component(_folder ${_folder} ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
endif()
if(NOT _folder AND EXISTS ${CMAKE_SOURCE_DIR}/build-deps/mujoco/made-from-wheel)
  set(_folder ${CMAKE_SOURCE_DIR}/build-deps/mujoco)
endif()
# A folder configured before may have found another one.
if(NOT "${_folder}" STREQUAL "${MUJOCO_FOUND_IN}")
  unset(MUJOCO_INCLUDE CACHE)
  unset(MUJOCO_LIBRARY CACHE)
endif()
set(MUJOCO_FOUND_IN "${_folder}" CACHE INTERNAL "")
set(MUJOCO_PACKED)
if(NOT _folder OR _folder STREQUAL system)
  waker_find(MUJOCO mujoco OPTIONAL)
  if(NOT MUJOCO_INCLUDE OR NOT MUJOCO_LIBRARY)
    message(FATAL_ERROR "MuJoCo was not found. Run 'tools/setup build', which fetches it, 'tools/setup system-mujoco' (Debian: "
                        "libmujoco-dev), or set MUJOCO_DIR to an unpacked release.")
  endif()
else()
  waker_find(MUJOCO mujoco UNDER ${_folder})
  file(REAL_PATH ${MUJOCO_LIBRARY} MUJOCO_PACKED)
  # Programs of the build folder find it by a relative path.
  get_filename_component(_place ${MUJOCO_PACKED} DIRECTORY)
  file(CREATE_LINK ${_place} ${CMAKE_BINARY_DIR}/mujoco SYMBOLIC)
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
