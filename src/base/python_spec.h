// Names of Python functions, accepted wherever the path of a plug-in is: FILE.py:FUNCTION, or
// MODULE:FUNCTION, whose file Python finds. FUNCTION may have dots: a static method.
#ifndef WK_BASE_PYTHON_SPEC_H
#define WK_BASE_PYTHON_SPEC_H

#include <stdbool.h>
#include <stddef.h>

/// Bytes of FILE.py or MODULE, which end at the colon; 0 for any other text, such as the path of a
/// shared object.
size_t wk_python_spec_source_length(const char *text);

/// Whether the source is FILE.py, not a module.
bool wk_python_spec_has_file(const char *text);

#endif
