foreach(build 1 2 3)
  add_library(plugin_marker${build} MODULE plugins/marker.c)
  target_compile_definitions(plugin_marker${build} PRIVATE BUILD=${build})
  target_include_directories(plugin_marker${build} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(plugin_marker${build} PRIVATE m)
  set_target_properties(plugin_marker${build} PROPERTIES PREFIX "" OUTPUT_NAME marker${build}
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/plugins)
  add_dependencies(${target} plugin_marker${build})
endforeach()
