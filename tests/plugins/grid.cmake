# The example with discrete actions and a vector, and the same with a picture besides, for the tests that include this.
if(NOT TARGET plugin_grid)
  foreach(variant grid grid_both)
    add_library(plugin_${variant} MODULE ${CMAKE_SOURCE_DIR}/examples/plugin/grid.c)
    target_include_directories(plugin_${variant} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    set_target_properties(plugin_${variant} PROPERTIES PREFIX "" OUTPUT_NAME ${variant}
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/plugins)
  endforeach()
  target_compile_definitions(plugin_grid_both PRIVATE GRID_PICTURE=1)
endif()
add_dependencies(${target} plugin_grid plugin_grid_both)
