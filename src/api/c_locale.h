// Numbers of files and settings have a point: whoever calls the library may have chosen a locale
// where they do not. Entries that read or write such text work in the C locale and give the
// caller's back.
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
