# waker_find(NAME library [options]) finds the row of tools/dependencies with -l<library>: its header's folder as NAME_INCLUDE
# and the library as NAME_LIBRARY, or says which Debian package has them. Options: OPTIONAL, to leave both NOTFOUND instead;
# UNDER folder, to look only there.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/dependencies)

function(waker_find name library)
  cmake_parse_arguments(FIND "OPTIONAL" "UNDER" "" ${ARGN})
  file(STRINGS ${CMAKE_SOURCE_DIR}/tools/dependencies row REGEX "^[^#]* -l${library}$")
  if(NOT row MATCHES "^([^ ]+) +([^ ]+) +([^ ]+) +-l")
    message(FATAL_ERROR "tools/dependencies has no row 'groups package header.h -l${library}'.")
  endif()
  set(group ${CMAKE_MATCH_1})
  set(package ${CMAKE_MATCH_2})
  set(header ${CMAKE_MATCH_3})
  if(FIND_UNDER)
    set(where NO_DEFAULT_PATH PATHS ${FIND_UNDER})
  endif()
  find_path(${name}_INCLUDE ${header} PATH_SUFFIXES include openblas openblas-pthread ${where})
  find_library(${name}_LIBRARY ${library} PATH_SUFFIXES lib ${where})
  if(FIND_OPTIONAL OR (${name}_INCLUDE AND ${name}_LIBRARY))
    return()
  elseif(FIND_UNDER)
    message(FATAL_ERROR "${FIND_UNDER} has no include/${header} with lib/lib${library}.so.")
  endif()
  message(FATAL_ERROR "${header} with lib${library} was not found. Run 'tools/setup ${group}' (Debian: ${package}); "
                      "where it is in a folder of its own, set CMAKE_PREFIX_PATH.")
endfunction()
