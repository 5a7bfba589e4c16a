// How a function of Python is named where else the file of a plug-in is: FILE.py:FUNCTION, or
// MODULE:FUNCTION, which Python finds the file of. FUNCTION may have dots: a static method.
#ifndef WK_BASE_PYTHON_SPEC_H
#define WK_BASE_PYTHON_SPEC_H

#include <stdbool.h>
#include <stddef.h>

/// Bytes before the colon of such a name; 0 for any other text, a shared object's path above all.
size_t wk_python_spec_place(const char *text);

/// Whether the place is a file, not a module.
bool wk_python_spec_has_file(const char *text);

#endif
