// Python with packages from PyPI, for tests that hand files to the formats' own programs.
#ifndef WK_TESTS_PYTHON_H
#define WK_TESTS_PYTHON_H

/// A shell command for a Python that has `modules` ("numpy, safetensors"): the one that
/// WAKER_PYTHON names, or python3 with the packages of `tools/setup test`, or the system's. Where
/// none has them the test is skipped with a message, or fails if WAKER_NEED_PYTHON is set, as it is
/// in CI.
const char *python_with(const char *modules);

/// The same for modules that nobody has to have, CI included: without them the test is skipped.
const char *python_if_any(const char *modules);

/// Has environments of Python find one with numpy, like python_with.
void python_for_workers(void);

/// Runs a script with arguments; returns its exit status.
int python_run(const char *python, const char *script, const char *arguments);

#endif
