# Processes that are killed, and starts of Python; env/python has the same code for sanitizers.
set_tests_properties(${name} PROPERTIES LABELS native)
