#include "base/watchdog.h"

#include "base/clock.h"
#include "base/text.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct wk_watchdog {
    double seconds;
    void (*report)(void *context, double seconds);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock; // of all below
    pthread_cond_t quits;
    bool quit, waiting, reported;
    double began;
};

static void look(wk_watchdog *dog)
{
    double waited = wk_clock_seconds() - dog->began;
    if (!dog->waiting || dog->reported || waited < dog->seconds) return;
    dog->reported = true;
    dog->report(dog->context, waited);
}

static void *watch(void *argument)
{
    wk_watchdog *dog = argument;
    wk_locale_use_c();
    pthread_mutex_lock(&dog->lock);
    while (!dog->quit) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        double pause = dog->seconds / 4 + (double)until.tv_nsec / 1e9;
        until.tv_sec += (time_t)pause;
        until.tv_nsec = (long)((pause - (double)(time_t)pause) * 1e9);
        pthread_cond_timedwait(&dog->quits, &dog->lock, &until);
        look(dog);
    }
    pthread_mutex_unlock(&dog->lock);
    return NULL;
}

wk_status wk_watchdog_create(double seconds, void (*report)(void *context, double seconds),
                             void *context, wk_watchdog **out, wk_error *err)
{
    wk_watchdog *dog = calloc(1, sizeof *dog);
    if (!dog) return wk_fail(err, WK_E_MEMORY, "no memory for a watchdog");
    dog->seconds = seconds;
    dog->report = report;
    dog->context = context;
    pthread_mutex_init(&dog->lock, NULL);
    pthread_condattr_t by; // the clock that nobody sets
    pthread_condattr_init(&by);
    pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
    pthread_cond_init(&dog->quits, &by);
    pthread_condattr_destroy(&by);
    if (pthread_create(&dog->thread, NULL, watch, dog) != 0) {
        free(dog);
        return wk_fail(err, WK_E_MEMORY, "cannot start a thread for a watchdog");
    }
    *out = dog;
    return WK_OK;
}

void wk_watchdog_destroy(wk_watchdog *dog)
{
    if (!dog) return;
    pthread_mutex_lock(&dog->lock);
    dog->quit = true;
    pthread_cond_signal(&dog->quits);
    pthread_mutex_unlock(&dog->lock);
    pthread_join(dog->thread, NULL);
    pthread_cond_destroy(&dog->quits);
    pthread_mutex_destroy(&dog->lock);
    free(dog);
}

void wk_watchdog_begin(wk_watchdog *dog)
{
    if (!dog) return;
    pthread_mutex_lock(&dog->lock);
    dog->waiting = true;
    dog->reported = false;
    dog->began = wk_clock_seconds();
    pthread_mutex_unlock(&dog->lock);
}

void wk_watchdog_end(wk_watchdog *dog)
{
    if (!dog) return;
    pthread_mutex_lock(&dog->lock);
    dog->waiting = false;
    pthread_mutex_unlock(&dog->lock);
}
