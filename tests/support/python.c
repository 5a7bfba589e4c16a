#include "support/python.h"

#include "support/check.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool has_modules(const char *python, const char *modules)
{
    char command[1024];
    snprintf(command, sizeof command, "%s -c 'import %s' 2>/dev/null", python, modules);
    return system(command) == 0;
}

// A shell command that runs a Python with the modules; NULL when there is none.
static const char *find(const char *modules)
{
    const char *const known[] = {
        getenv("WAKER_PYTHON"),
        "env PYTHONPATH=" WAKER_SOURCE_DIR "/build-deps/python python3",
        "python3",
        "/usr/bin/python3",
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] && has_modules(known[i], modules)) return known[i];
    return NULL;
}

const char *python_with(const char *modules)
{
    const char *python = find(modules);
    if (python) return python;
    if (getenv("WAKER_NEED_PYTHON")) fail_msg("no Python has %s; run tools/setup test", modules);
    print_message("skipped: no Python has %s; run tools/setup test, or set WAKER_PYTHON\n",
                  modules);
    skip();
    return NULL;
}

const char *python_if_any(const char *modules)
{
    const char *python = find(modules);
    if (python) return python;
    print_message("skipped: no Python has %s; WAKER_PYTHON can name one that has\n", modules);
    skip();
    return NULL;
}

void python_for_workers(void)
{
    static const char *python; // found by the first call
    char folder[1024];
    if (python) return;
    python = python_with("numpy");
    const char *path = strstr(python, "PYTHONPATH=");
    if (!path) {
        setenv("WAKER_PYTHON", python, 1);
        return;
    }
    path += strlen("PYTHONPATH=");
    snprintf(folder, sizeof folder, "%.*s", (int)strcspn(path, " "), path);
    setenv("PYTHONPATH", folder, 1);
}

int python_run(const char *python, const char *script, const char *arguments)
{
    char command[8192];
    int length =
        snprintf(command, sizeof command, "%s - %s <<'END'\n%s\nEND\n", python, arguments, script);
    assert_true(length > 0 && length < (int)sizeof command);
    return system(command);
}
