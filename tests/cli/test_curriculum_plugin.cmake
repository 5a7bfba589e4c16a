# The template curriculum, and variants of it that are broken on purpose, as real shared objects.
set(rule_targets plugin_even)
add_library(plugin_even MODULE ${CMAKE_SOURCE_DIR}/examples/curriculum/even.c)
set_target_properties(plugin_even PROPERTIES OUTPUT_NAME even)
foreach(fault rule_missing rule_null rule_other_abi rule_nameless rule_name_taken rule_bad_name rule_negative
        rule_nan rule_sum rule_zero rule_prefill rule_prefill_negative)
  string(TOUPPER ${fault} macro)
  add_library(plugin_${fault} MODULE plugins/broken_rule.c)
  target_compile_definitions(plugin_${fault} PRIVATE BREAK=${macro})
  set_target_properties(plugin_${fault} PROPERTIES OUTPUT_NAME ${fault})
  list(APPEND rule_targets plugin_${fault})
endforeach()
foreach(plugin IN LISTS rule_targets)
  target_include_directories(${plugin} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  set_target_properties(${plugin} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY
                        ${CMAKE_BINARY_DIR}/tests/plugins)
endforeach()
add_dependencies(${target} ${rule_targets})

# Users copy the folder and build it by itself.
set(copy ${CMAKE_BINARY_DIR}/tests/curriculum-copy)
add_test(NAME cli/curriculum_template_copy
         COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/examples/curriculum ${copy})
set_tests_properties(cli/curriculum_template_copy PROPERTIES FIXTURES_SETUP curriculum_copy)
find_program(PLAIN_MAKE make)
if(PLAIN_MAKE)
  add_test(NAME cli/curriculum_template_make
           COMMAND ${PLAIN_MAKE} -B -C ${copy} WAKER_INCLUDE=${CMAKE_SOURCE_DIR}/include)
  set_tests_properties(cli/curriculum_template_make PROPERTIES FIXTURES_REQUIRED curriculum_copy)
endif()
