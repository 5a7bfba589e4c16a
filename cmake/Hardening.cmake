# Optimised builds are hardened: checked stack frames and buffers of libc's functions, position-independent programs, and
# tables of the linker that are read-only once the program runs. docs/performance.md has what it costs.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT WAKER_SANITIZE AND NOT WAKER_COVERAGE)
  add_compile_options("$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C>>:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  add_link_options("$<$<CONFIG:Release>:LINKER:-z,relro;LINKER:-z,now>")
endif()
