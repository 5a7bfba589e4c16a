// The template plug-in with bad manners, chosen by the environment variable HOSTILE:
//   locale    sets German numbers when it is loaded, created and stepped
//   nan       gives rewards that are no numbers
//   sometimes the same in the episodes with an odd number
//   large     gives rewards near the end of the numbers
//   reset     gives completions that are no numbers at every reset
//   refuse    refuses the reset of episode 3
//   over      ends every episode at its reset
//   short     ends every episode after its third step
//   exit      ends the process in its third step
//   crash     gives a reward that is no number, and aborts in its fiftieth step
//   fault     writes to a wrong address in its fiftieth step
//   divide    divides by zero in the first drawing after its fiftieth step
//   load      aborts while it is loaded
//   hang      never returns from its third step
//   huge      asks for 2^45 bytes of state
//   numbers   takes parameters near the end of the numbers
#define wk_plugin_entry ball_entry
#include "../../examples/plugin/ball.c"
#undef wk_plugin_entry
#include <locale.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is(const char *way)
{
    const char *chosen = getenv("HOSTILE");
    return chosen && strcmp(chosen, way) == 0;
}

__attribute__((constructor)) static void speak_german(void)
{
    if (is("locale") && !setlocale(LC_ALL, "de_DE.UTF-8")) abort();
    if (is("load")) abort();
}

// Of the last episode; these runs have one environment.
static uint64_t number;
static int played; // steps
static int steps;  // of all episodes

// A page that nobody may touch: a fault that no check of the compiler comes before.
static void write_nowhere(void)
{
    volatile char *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 1;
}

static wk_status bad_reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                           wk_outcome *out, wk_error *err)
{
    static const double mild[N_PARAMS] = {[FRICTION] = 0.5};
    wk_status status = reset(env, is("numbers") ? mild : theta, seed, episode, out, err);
    if (is("refuse") && episode == 3) {
        snprintf(err->message, sizeof err->message, "no track for episode 3");
        return WK_E_INPUT;
    }
    number = episode;
    played = 0;
    speak_german();
    out->terminal = is("over");
    if (is("reset")) out->completion[CENTRE] = NAN;
    return status;
}

static void bad_step(void *env, const float *action, wk_outcome *out)
{
    steps++;
    step(env, action, out);
    speak_german();
    if (is("nan") || (is("sometimes") && number % 2 == 1)) out->rewards[CIRCLE] = NAN;
    out->terminal = is("short") && ++played == 3;
    if (is("large")) out->rewards[CIRCLE] = 3e38f;
    if (is("exit") && steps == 3) exit(0);
    if (is("crash")) out->rewards[CIRCLE] = NAN;
    if (is("crash") && steps == 50) abort();
    if (is("fault") && steps == 50) write_nowhere();
    while (is("hang") && steps >= 3)
        sleep(1);
}

static void bad_render(void *env, int width, int height, uint8_t *rgb)
{
    if (is("divide") && steps >= 50) raise(SIGFPE); // as the processor does
    render(env, width, height, rgb);
}

static size_t bad_state_size(const void *env)
{
    return is("huge") ? (size_t)1 << 45 : state_size(env);
}

const wk_domain *wk_plugin_entry(void);
const wk_domain *wk_plugin_entry(void)
{
    static wk_domain changed;
    static wk_param ranges[N_PARAMS];
    changed = *ball_entry();
    memcpy(ranges, changed.params, sizeof ranges);
    for (int i = 0; i < N_PARAMS; i++)
        if (is("numbers")) ranges[i].legal_max = 1e300;
    changed.params = ranges;
    changed.episode_steps = 20;
    changed.ends_early = is("short") || is("over");
    changed.reset = bad_reset;
    changed.step = bad_step;
    changed.render = bad_render;
    changed.state_size = bad_state_size;
    return &changed;
}
