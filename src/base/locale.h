// Numbers are written and read with a point, whatever the process's locale is: a plug-in, or a
// library behind it, may call setlocale at any time.
#ifndef WK_BASE_LOCALE_H
#define WK_BASE_LOCALE_H

/// Gives the calling thread the C locale, which setlocale does not change. The program calls it
/// first in every thread that formats or parses numbers.
void wk_locale_use_c(void);

#endif
