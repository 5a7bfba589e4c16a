# waker_embed_assets(target globs...): compiles text files into `target`, so that the program needs no
# files beside it. Each file is found at run time by name: wk_asset_find("walker.xml").
function(waker_embed_assets target)
  file(GLOB _assets CONFIGURE_DEPENDS ${ARGN})
  list(SORT _assets)
  set(_out ${CMAKE_BINARY_DIR}/generated/assets.c)
  string(REPLACE ";" "|" _joined "${_assets}")
  add_custom_command(
    OUTPUT ${_out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${_out} "-DASSETS=${_joined}" -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${_assets} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${_out})
endfunction()
