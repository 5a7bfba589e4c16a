add_library(plugin_hostile MODULE plugins/hostile.c)
target_include_directories(plugin_hostile PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(plugin_hostile PRIVATE m)
set_target_properties(plugin_hostile PROPERTIES PREFIX "" OUTPUT_NAME hostile
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/plugins)
add_dependencies(${target} plugin_hostile)
