// A tiny domain for tests of the host, and the same domain with one thing wrong: a point on a line
// that is pushed by the first number of the action.
//
//   v <- 0.5 v + gain * action[0] + drift;  x <- x + 0.1 v;  reward "right" = x, "left" = -x.
#ifndef WK_TESTS_TOY_DOMAIN_H
#define WK_TESTS_TOY_DOMAIN_H

#include "waker/env.h"

enum { TOY_STEPS = 12, TOY_ACTIONS = 2, TOY_EVENT_STEP = 3 };

/// What is wrong with it. Faults "at the event" happen at step TOY_EVENT_STEP.
typedef enum toy_fault {
    TOY_SOUND,
    TOY_TERMINAL, // not a fault: the task ends at the event
    TOY_TERMINAL_UNDECLARED,
    TOY_TERMINAL_AT_RESET,
    TOY_CREATE_FAILS,
    TOY_CREATE_SILENT,
    TOY_CREATE_NOTHING,
    TOY_RESET_FAILS,
    TOY_DIVERGES, // at the event
    TOY_DIVERGES_LATE,
    TOY_DIVERGES_AT_RESET,
    TOY_NAN_REWARD, // at the event
    TOY_NAN_COMPLETION,
    TOY_BIG_COMPLETION,
    TOY_BAD_CELL, // has an indicator of 8 cells
    TOY_BIG_REWARD,
    TOY_EXTRA_REWARD,
    TOY_UNDECLARED_COMPLETION,
    TOY_PAINTS_OUTSIDE,
    TOY_PAINTS_HOLES,
    TOY_PAINTS_NOISE,
    TOY_PAINTS_STILL,
    TOY_RANDOM,
    TOY_REMEMBERS,
    TOY_SHARES,
    TOY_DRAWING_MOVES,
    TOY_STATE_GROWS,
    TOY_SAVES_OUTSIDE,
    TOY_SAVES_HOLES,
    TOY_FORGETS_SPEED,
    TOY_LOAD_REFUSES,
    TOY_LOADS_ANY_SIZE,
    TOY_LOAD_SILENT,
    TOY_LOSES_MEMORY,
    TOY_LOSES_MEGABYTES,
} toy_fault;

/// A domain that knows its fault. Copy it, change fields of `domain`, and keep it while in use.
typedef struct toy {
    wk_domain domain;
    toy_fault fault;
} toy;

toy toy_make(toy_fault fault);

/// Position at the start of (seed, episode).
double toy_start(uint64_t seed, uint64_t episode);

/// Worlds that exist now; 0 when everything was destroyed.
int toy_worlds(void);

#endif
