// Names of Python functions in places that otherwise take a plug-in's path: FILE.py:FUNCTION, or
// MODULE:FUNCTION, whose file Python finds. FUNCTION may have dots: a static method.
#ifndef WK_BASE_PYTHON_SPEC_H
#define WK_BASE_PYTHON_SPEC_H

#include <stdbool.h>
#include <stddef.h>

/// Bytes before the colon of such a name; 0 for any other text, a shared object's path above all.
size_t wk_python_spec_place(const char *text);

/// Whether the place is a file, not a module.
bool wk_python_spec_has_file(const char *text);

#endif
