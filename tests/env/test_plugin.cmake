# The template plug-in, and variants of it that are broken on purpose, as real shared objects.
set(plugin_folder ${CMAKE_BINARY_DIR}/tests/plugins)
add_library(plugin_ball MODULE ${CMAKE_SOURCE_DIR}/examples/plugin/ball.c)
set_target_properties(plugin_ball PROPERTIES PREFIX "" OUTPUT_NAME ball)
set(plugin_targets plugin_ball)
foreach(fault entry_missing entry_null other_abi other_size bad_name symbol_missing hardest_illegal
        reward_nan name_taken message_escapes)
  string(TOUPPER ${fault} macro)
  add_library(plugin_${fault} MODULE plugins/broken.c)
  target_compile_definitions(plugin_${fault} PRIVATE BREAK=${macro})
  set_target_properties(plugin_${fault} PROPERTIES PREFIX "" OUTPUT_NAME ${fault})
  list(APPEND plugin_targets plugin_${fault})
endforeach()
foreach(plugin IN LISTS plugin_targets)
  target_include_directories(${plugin} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${plugin} PRIVATE m)
  set_target_properties(${plugin} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${plugin_folder})
endforeach()
add_dependencies(${target} ${plugin_targets})

# Users copy the folder and build it by itself, in one of two ways.
set(copy ${CMAKE_BINARY_DIR}/tests/plugin-copy)
add_test(NAME env/plugin_template_copy
         COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/examples/plugin ${copy})
add_test(NAME env/plugin_template_cmake
         COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${copy} ${copy}/build
                 --build-generator ${CMAKE_GENERATOR}
                 --build-options -DWAKER_INCLUDE=${CMAKE_SOURCE_DIR}/include)
# Without WAKER_INCLUDE, cmake finds the headers that pkg-config knows of, as make does.
find_program(PLAIN_PKG_CONFIG pkg-config)
if(PLAIN_PKG_CONFIG)
  file(WRITE ${CMAKE_BINARY_DIR}/tests/pkgconfig/waker.pc
       "includedir=${CMAKE_SOURCE_DIR}/include\nName: waker\nDescription: headers\nVersion: 0\n")
  add_test(NAME env/plugin_template_installed
           COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${copy} ${copy}/build-installed
                   --build-generator ${CMAKE_GENERATOR})
  set_tests_properties(env/plugin_template_installed PROPERTIES FIXTURES_REQUIRED plugin_copy
                       ENVIRONMENT PKG_CONFIG_PATH=${CMAKE_BINARY_DIR}/tests/pkgconfig)
endif()
set_tests_properties(env/plugin_template_copy PROPERTIES FIXTURES_SETUP plugin_copy)
set_tests_properties(env/plugin_template_cmake PROPERTIES FIXTURES_REQUIRED plugin_copy)
find_program(PLAIN_MAKE make)
if(PLAIN_MAKE)
  add_test(NAME env/plugin_template_make
           COMMAND ${PLAIN_MAKE} -B -C ${copy} WAKER_INCLUDE=${CMAKE_SOURCE_DIR}/include)
  add_test(NAME env/plugin_template_headers COMMAND ${PLAIN_MAKE} -B -C ${copy} WAKER_INCLUDE=)
  set_tests_properties(env/plugin_template_make PROPERTIES FIXTURES_REQUIRED plugin_copy)
  set_tests_properties(env/plugin_template_headers PROPERTIES FIXTURES_REQUIRED plugin_copy
                       PASS_REGULAR_EXPRESSION "give WAKER_INCLUDE=")
endif()
