set_tests_properties(${name} PROPERTIES LABELS native) # drawing by OSMesa; env/renderer has our own
