// Files and settings use a decimal point, whatever the caller's locale. Functions of the API that
// read or write them switch to the C locale (enter) and restore the caller's (leave).
#ifndef WK_API_C_LOCALE_H
#define WK_API_C_LOCALE_H

#include "base/text.h"
#include <locale.h>

static inline locale_t wk_c_locale_enter(void)
{
    locale_t callers = uselocale((locale_t)0);
    wk_locale_use_c();
    return callers;
}

static inline void wk_c_locale_leave(locale_t callers)
{
    uselocale(callers);
}

#endif
