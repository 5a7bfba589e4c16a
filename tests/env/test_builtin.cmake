# Examines every built-in domain, which sanitizers make slow.
set_tests_properties(${name} PROPERTIES TIMEOUT 1200 COST 30)
