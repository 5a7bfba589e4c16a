# What an installation has beyond the program: the shared library, its pkg-config file, manual pages and completions, which
# the program itself writes. The program and the tests link the static library: they use what is not exported.
include(GNUInstallDirs)
set(WAKER_SOVERSION 0) # raised when a program that was linked before would no longer run

file(GLOB WAKER_HEADERS CONFIGURE_DEPENDS include/waker/*.h)
set(WAKER_EXPORTS ${CMAKE_BINARY_DIR}/generated/exports.map)
string(REPLACE ";" "|" joined "${WAKER_HEADERS}")
add_custom_command(
  OUTPUT ${WAKER_EXPORTS}
  COMMAND ${CMAKE_COMMAND} -DOUT=${WAKER_EXPORTS} "-DHEADERS=${joined}" -DSOVERSION=${WAKER_SOVERSION}
          -P ${CMAKE_SOURCE_DIR}/cmake/exports.cmake
  DEPENDS ${WAKER_HEADERS} ${CMAKE_SOURCE_DIR}/cmake/exports.cmake
  VERBATIM)
add_custom_target(exports DEPENDS ${WAKER_EXPORTS})

add_library(libwaker_shared SHARED $<TARGET_OBJECTS:libwaker>)
add_dependencies(libwaker_shared exports)
get_target_property(WAKER_LINKED libwaker LINK_LIBRARIES)
target_link_libraries(libwaker_shared PRIVATE ${WAKER_LINKED})
target_link_options(libwaker_shared PRIVATE LINKER:--version-script=${WAKER_EXPORTS})
set_target_properties(libwaker_shared PROPERTIES OUTPUT_NAME waker VERSION ${PROJECT_VERSION} SOVERSION ${WAKER_SOVERSION}
                      LINK_DEPENDS ${WAKER_EXPORTS} LINKER_LANGUAGE C)
if(WAKER_HAVE_CUDA)
  target_sources(libwaker_shared PRIVATE $<TARGET_OBJECTS:hopper>)
  set_target_properties(libwaker_shared PROPERTIES LINKER_LANGUAGE CUDA)
endif()
if(NOT WAKER_SANITIZE)
  target_link_options(libwaker_shared PRIVATE LINKER:--no-undefined)
endif()
# In the Python package the libraries it needs lie beside it, otherwise MuJoCo as for the program.
set_target_properties(libwaker_shared PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/waker;$ORIGIN/mujoco" BUILD_WITH_INSTALL_RPATH ON)
target_link_options(libwaker_shared PRIVATE -Wl,--disable-new-dtags)

# What a program links that takes the static library.
set(flags)
foreach(library IN LISTS WAKER_LINKED)
  if(library STREQUAL Threads::Threads)
    set(library pthread)
  elseif(TARGET ${library})
    get_target_property(library ${library} IMPORTED_LOCATION)
  endif()
  if(MUJOCO_PACKED AND library STREQUAL MUJOCO_LIBRARY)
    get_filename_component(name ${MUJOCO_PACKED} NAME)
    list(APPEND flags "-L\${libdir}/waker" -l:${name} "-Wl,-rpath,\${libdir}/waker")
    continue()
  endif()
  if(library MATCHES "^(/.*)/lib([^/]*)\\.(so|a)[^/]*$")
    if(NOT CMAKE_MATCH_1 IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
      list(APPEND flags -L${CMAKE_MATCH_1})
    endif()
    set(library ${CMAKE_MATCH_2})
  endif()
  list(APPEND flags -l${library})
endforeach()
if(WAKER_HAVE_CUDA)
  list(APPEND flags -lrt -lstdc++)
endif()
list(REMOVE_DUPLICATES flags)
string(REPLACE ";" " " WAKER_PC_PRIVATE "${flags}")
file(RELATIVE_PATH WAKER_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" WAKER_PC_PREFIX "${WAKER_PC_PREFIX}")
configure_file(cmake/waker.pc.in generated/waker.pc @ONLY)

set(documents ${CMAKE_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${documents}/pages ${documents}/waker.bash ${documents}/_waker
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${documents}/man1
  COMMAND waker man --out ${documents}/man1
  COMMAND waker completion bash > ${documents}/waker.bash
  COMMAND waker completion zsh > ${documents}/_waker
  COMMAND ${CMAKE_COMMAND} -E touch ${documents}/pages
  DEPENDS waker)
add_custom_target(installable ALL DEPENDS waker libwaker libwaker_shared ${documents}/pages)

# Where Debian's zsh looks for completions of packages.
set(zsh share/zsh/site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL /usr AND EXISTS /etc/debian_version)
  set(zsh share/zsh/vendor-completions)
endif()
install(TARGETS waker RUNTIME)
install(TARGETS libwaker libwaker_shared ARCHIVE LIBRARY)
install(FILES ${WAKER_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/waker)
if(MUJOCO_PACKED)
  get_filename_component(folder ${MUJOCO_PACKED} DIRECTORY)
  install(FILES ${MUJOCO_PACKED} DESTINATION ${WAKER_MUJOCO_PLACE})
  install(DIRECTORY ${folder}/../licenses/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/mujoco OPTIONAL)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${folder})
endif()
install(FILES ${documents}/waker.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${documents}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${documents}/waker.bash DESTINATION share/bash-completion/completions RENAME waker)
install(FILES ${documents}/_waker DESTINATION ${zsh})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN examples/CMakeLists.txt EXCLUDE
        PATTERN .gitignore EXCLUDE PATTERN *.so EXCLUDE PATTERN build EXCLUDE)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# `cpack` in the build folder makes the Debian package; `make package` sees to the prefix.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME waker)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "robust world models from reward-free curricula")
set(CPACK_PACKAGE_DESCRIPTION "Trains world models without rewards in procedurally varied MuJoCo environments,
chooses by the model's own error which environment to visit next, and derives
task policies from the result. With the library, its headers and examples.")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the waker authors <waker@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gcc, pkg-config")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_SOURCE_DIR}/dist)
include(CPack)
