// Handlers write with write() alone, from texts that were made before.
#include "cli/crash.h"

#include "base/plugin_call.h"
#include "base/shared_object.h"
#include "base/text.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILES_CHARS = 4096, LINE_CHARS = FILES_CHARS + 2048 };

static struct {
    int number;
    const char *text;
    struct sigaction before;
} crashes[] = {{.number = SIGSEGV, .text = "SIGSEGV (invalid memory access)"},
               {.number = SIGBUS, .text = "SIGBUS (invalid memory access)"},
               {.number = SIGFPE, .text = "SIGFPE (invalid arithmetic)"},
               {.number = SIGILL, .text = "SIGILL (invalid instruction)"},
               {.number = SIGABRT, .text = "SIGABRT (abort)"}};
enum { CRASHES = sizeof crashes / sizeof *crashes };

static const char *command, *advice = "";
static void (*before_message)(void);
static char files[FILES_CHARS]; // those loaded, between commas
static bool terminal;           // a status line may stand there
static atomic_flag crashed = ATOMIC_FLAG_INIT;

typedef struct line {
    char chars[LINE_CHARS];
    size_t length;
} line;

static void add(line *out, const char *text)
{
    while (*text && out->length < LINE_CHARS)
        out->chars[out->length++] = *text++;
}

static void add_number(line *out, const char *before, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    add(out, before);
    add(out, digits + at);
}

static void add_call(line *out, const wk_plugin_call *call)
{
    add(out, " in ");
    add(out, call->function);
    if (call->name) {
        add(out, " of the ");
        add(out, call->kind);
        add(out, " '");
        add(out, call->name);
        add(out, "'");
    }
    if (!call->theta) return;
    if (call->step >= 0) add_number(out, ", step ", (uint64_t)call->step);
    add(out, ", θ ");
    add(out, call->theta);
    add_number(out, ", seed ", call->seed);
    add_number(out, ", episode ", call->episode);
}

static void put_line(const char *signal_text)
{
    line out;
    out.length = 0;
    const wk_plugin_call *call = wk_plugin_call_running();
    add(&out, terminal ? "\nwaker " : "waker ");
    add(&out, command);
    add(&out, ": ");
    add(&out, signal_text);
    if (call)
        add_call(&out, call);
    else
        add(&out, " outside the plug-in's functions, which may have corrupted memory before");
    add(&out, "; plug-in: ");
    add(&out, files);
    add(&out, ". A debugger shows where: put 'gdb --args' before the command.");
    add(&out, advice);
    add(&out, "\n");
    ssize_t written = write(STDERR_FILENO, out.chars, out.length);
    (void)written;
}

void wk_crash_say_exit(void)
{
    line out;
    out.length = 0;
    const wk_plugin_call *call = wk_plugin_call_running();
    if (before_message) before_message();
    add(&out, terminal ? "\nwaker" : "waker");
    if (command) {
        add(&out, " ");
        add(&out, command);
    }
    add(&out, ": ");
    add(&out, *files ? "a plug-in, or a library it uses," : "a library");
    add(&out, " called exit()");
    if (call) add_call(&out, call);
    if (*files) {
        add(&out, "; plug-in: ");
        add(&out, files);
    }
    add(&out, ".");
    add(&out, advice);
    add(&out, "\n");
    ssize_t written = write(STDERR_FILENO, out.chars, out.length);
    (void)written;
}

// The action of before, a sanitizer's or the default, gets the signal next: a fault by being made
// again, a signal that was sent by being sent again.
static void on_crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    while (atomic_flag_test_and_set(&crashed)) // by another thread, which ends the process
        pause();
    if (before_message) before_message();
    for (size_t i = 0; i < CRASHES; i++) {
        if (crashes[i].number != number) continue;
        put_line(crashes[i].text);
        sigaction(number, &crashes[i].before, NULL);
    }
    if (info->si_code <= 0) raise(number);
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < CRASHES; i++)
        sigaddset(&action.sa_mask, crashes[i].number);
    for (size_t i = 0; i < CRASHES; i++)
        sigaction(crashes[i].number, &action, &crashes[i].before);
    terminal = isatty(STDERR_FILENO);
}

static void on_load(const char *path)
{
    size_t used = strlen(files);
    if (used == 0) install();
    if (strstr(files, path)) return; // by another run of a population
    snprintf(files + used, sizeof files - used, "%s%s", used ? ", " : "", path);
    wk_utf8_sanitise(files, false);
}

void wk_crash_handle(const char *name)
{
    command = name;
    wk_shared_object_on_load(on_load);
}

void wk_crash_mention_resume(void)
{
    advice = " Once the plug-in is fixed, the same command resumes from the last checkpoint, or "
             "starts over if there is none.";
}

void wk_crash_before_message(void (*callback)(void))
{
    before_message = callback;
}
