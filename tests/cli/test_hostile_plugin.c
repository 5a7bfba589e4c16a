// Plug-ins that change the process under the program, break down, or do not come back: what they
// leave is sound, and every way they fail has a message and an exit code.
#include "cli/long_runs.h"

#define PLUGIN WAKER_BINARY_DIR "/tests/plugins/hostile.so"
#define OPTIONS TINY_OPTIONS " --env.count 1 --log.tensorboard false --tasks all --plugin " PLUGIN

static program_result train(const char *way, const char *run, const char *more)
{
    setenv("HOSTILE", way, 1);
    program_result r = program_run("train --logdir %s " OPTIONS " %s", run, more);
    unsetenv("HOSTILE");
    return r;
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    char *path = realpath(place, NULL), locales[600], command[700];
    assert_non_null(path);
    snprintf(locales, sizeof locales, "%s/locales", path);
    free(path);
    snprintf(command, sizeof command, "mkdir %s && localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8",
             locales, locales);
    if (system(command) != 0) skip(); // the package 'locales' is not installed
    setenv("LOCPATH", locales, 1);
    program_expect_success(train("", "english", "--env.threads 2"));
    program_expect_success(train("locale", "german", "--env.threads 2"));
    shell("cmp english/config.yaml german/config.yaml");
    shell("cmp english/metrics.jsonl german/metrics.jsonl");
    program_expect_success(train("locale", "german", "--steps 450"));
    setenv("HOSTILE", "locale", 1);
    program_result r = program_run("eval german --envs 2 --cases dr --json --plugin " PLUGIN);
    unsetenv("HOSTILE");
    unsetenv("LOCPATH");
    program_expect_success(r);
    program_expect_json(r.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
