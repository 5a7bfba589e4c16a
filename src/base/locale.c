#include "base/locale.h"

#include <assert.h>
#include <locale.h>

void wk_locale_use_c(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(c); // the C library has it built in
    uselocale(c);
}
