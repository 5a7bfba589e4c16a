// The toy domain: a boat on a pond, small enough to learn in a minute and to read in five.
#ifndef WK_ENV_DOMAINS_TOY_H
#define WK_ENV_DOMAINS_TOY_H

#include "waker/env.h"

extern const wk_domain wk_toy;

#endif
