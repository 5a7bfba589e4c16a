// waker ckpt on runs that were damaged, cut or edited: --check finds all of it.
#include "cli/long_runs.h"

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_expect_success(program_run("train --quiet --logdir run " TINY_OPTIONS
                                       " --log.tensorboard false --steps 500"));
    return 0;
}

static void expect_sound(const char *command)
{
    program_result r = program_run("%s", command);
    program_expect_success(r);
    assert_non_null(strstr(r.out, "sound"));
}

static void expect_damage(const char *command, const char *part)
{
    program_result r = program_run("%s", command);
    if (r.code != 3 || !strstr(r.out, part))
        fail_msg("'%s' gave %d: %s%s", command, r.code, r.out, r.err);
}

static void a_configuration_without_all_keys_is_refused_by_every_reader(void **state)
{
    (void)state;
    static const char *const commands[] = {"ckpt cut",
                                           "report cut --out page",
                                           "curriculum cut",
                                           "adapt cut --task all",
                                           "export cut --out x",
                                           "eval cut",
                                           "model-error cut",
                                           "openloop cut --out x.gif",
                                           "train --logdir cut " TINY_OPTIONS};
    shell("cp -r run cut && sed -i '/discount/d' cut/config.yaml");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_result r = program_run("%s", commands[i]);
        if (r.code == 0 || !strstr(r.err, "lacks the key 'policy.discount'"))
            fail_msg("'%s' gave %d: %s", commands[i], r.code, r.err);
    }
}

static void a_configuration_of_another_run_is_found(void **state)
{
    (void)state;
    expect_sound("ckpt run --check");
    shell("cp -r run edited && sed -i 's/discount: .*/discount: 0.5/' edited/config.yaml");
    expect_damage("ckpt edited --check", "another config.yaml");
    program_result r = program_run("curriculum edited");
    if (r.code == 0 || !strstr(r.err, "another config.yaml")) fail_msg("%d: %s", r.code, r.err);
    r = program_run("train --quiet --logdir edited " TINY_OPTIONS
                    " --log.tensorboard false --steps 600 --policy.discount 0.5");
    program_expect_error(r, 2, "belongs to another configuration");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_without_all_keys_is_refused_by_every_reader),
        cmocka_unit_test(a_configuration_of_another_run_is_found),
    };
    return cmocka_run_group_tests(tests, setup_run, teardown);
}
