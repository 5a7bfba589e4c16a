// Code is loaded only if the caller names it. A plug-in that leaves a mark when it is loaded lies
// beside runs that name it; no command that reads such a run may load it, each says what to type,
// and those that need no code do their work. Then: what naming a file does, and what happens when
// it changes.
#include "cli/long_runs.h"

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"
#define OPTIONS TINY_OPTIONS " --log.tensorboard false --tasks all"

static int setup_runs(void **state)
{
    if (setup(state) != 0) return -1;
    setenv("MARK_FILE", load_mark, 1);
    shell("cp " PLUGINS "marker1.so m.so");
    program_succeed("train --quiet --logdir made " OPTIONS
                    " --plugin m.so --curriculum.plugin ./m.so --steps 500");
    if (!was_loaded()) fail_msg("a named plug-in was not loaded");
    program_succeed("adapt made --task all --updates 3 --quiet");
    program_succeed("finetune made --task centre --steps 60 --quiet --plugin m.so");
    program_succeed("eval made --envs 1 --cases dr --quiet --plugin m.so");
    was_loaded();
    return 0;
}

// What a command says about a run whose plug-in it was not told to load. NULL: it needs none.
typedef struct reading {
    const char *command, *refusal;
} reading;

static const char NAME_IT[] = "add --plugin ", NAME_RULE[] = "add --curriculum.plugin ";

#define READINGS(run)                                                                              \
    {"ckpt " run, NULL}, {"ckpt " run " --check", NULL}, {"ckpt " run " --json", NULL},            \
        {"report " run " --out page", NULL}, {"curriculum " run, NULL},                            \
        {"export " run " --out episodes --episodes 2", NULL},                                      \
        {"card " run " --out card", NAME_IT}, {"card " run " --out card --no-video", NULL},        \
        {"adapt " run " --task all --updates 4 --restart --quiet", NULL},                          \
        {"eval " run " --envs 1 --cases dr", NAME_IT}, {"top " run " --once", NULL},               \
        {"eval " run " --policy random --envs 1 --cases dr", NAME_IT},                             \
        {"relabel " run " --reward m.so", NAME_IT}, {"openloop " run " --out x.gif", NAME_IT},     \
        {"model-error " run " --envs 1", NAME_IT},                                                 \
        {"finetune " run " --task circle --steps 10", NAME_IT},                                    \
        {"train --logdir " run " " OPTIONS, NAME_IT}, {"train --logdir " run, NAME_IT},            \
        {"train --logdir new --from " run, NAME_IT},                                               \
    {                                                                                              \
        "config --config-file " run "/config.yaml", NAME_IT                                        \
    }

static void read_quietly(const reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        program_result r = program_run("%s", readings[i].command);
        if (was_loaded()) fail_msg("'waker %s' loaded code", readings[i].command);
        if (readings[i].refusal)
            program_expect_error(r, 2, readings[i].refusal);
        else
            program_expect_success(r);
    }
}

TEST_CASE(no_command_loads_what_a_run_names)
{
    static const reading readings[] = {
        READINGS("made"), {"ckpt made/finetune/step-000000000501-centre --check", NULL}};
    read_quietly(readings, sizeof readings / sizeof *readings);
    // The description serves as well as the code.
    program_result r = program_run("curriculum made --json");
    program_expect_json(r.out);
    expect_parts(r.out, "\"domain\": \"ball-on-table\"", "\"rule\": \"even\"", "\"friction\": 0.1");
    r = program_run("ckpt made");
    expect_parts(r.out, "finetuned");
    r = program_succeed("report made --out page --json");
    shell("ls page/figures/map-error-ball-on-table-p2e-even.svg >/dev/null");
    assert_false(was_loaded());
}

// The messages name the file so that it can be pasted, also when its name would end a command.
TEST_CASE(what_to_type_is_said_and_safe_to_paste)
{
    char said[2300];
    program_result r = program_run("eval made");
    snprintf(said, sizeof said, "add --plugin %s/m.so: waker eval made --plugin %s/m.so\n", place,
             place);
    program_expect_error(r, 2, said);
    r = program_run("train --logdir 'made'");
    snprintf(said, sizeof said,
             ": waker train --logdir made --plugin %s/m.so --curriculum.plugin %s/m.so\n", place,
             place);
    program_expect_error(r, 2, said);
    shell("cp -r made pasted && sed -i 's#\"path\": .*#\"path\": \"/tmp/x; touch PWNED\",#' "
          "pasted/plugin.json");
    r = program_run("eval pasted");
    program_expect_error(r, 2, "add --plugin '/tmp/x; touch PWNED'");
    // Nor may the name, or any other text of the run, look like the end of this message.
    shell("sed -i 's#\"path\": .*#\"path\": \"/x Plug-ins are code: if you trust this one, add ; "
          "touch PWNED\",#' pasted/plugin.json");
    r = program_run("eval pasted");
    program_expect_error(r, 2, "add --plugin '/x Plug-ins");
    assert_null(strstr(r.err, "waker eval pasted"));
    shell("sed -i 's#^plugin: .*#plugin: \"\"#; s#^domain: .*#domain: \"Plug-ins are code: if you "
          "trust this one, add ; touch PWNED\"#' pasted/config.yaml");
    r = program_run("eval pasted");
    program_expect_error(r, 2, "no domain is called");
    assert_null(strstr(r.err, "waker eval pasted"));
    r = program_run("finetune made --task centre --steps 5 --curriculum run --plugin m.so");
    expect_parts(r.err, NAME_RULE);
    was_loaded(); // the domain was named
}

// Without plugin.json, and with a path that says nothing outside the folder it was typed in.
TEST_CASE(runs_without_a_description_say_how_to_get_one)
{
    shell("cp -r made bare && rm bare/plugin.json && "
          "sed -i 's#plugin: .*#plugin: m.so#' bare/config.yaml");
    static const char relative[] = "add --plugin FILE",
                      describe[] = "resume the run once with the same options";
    static const reading readings[] = {{"ckpt bare", NULL},
                                       {"report bare --out page", NULL},
                                       {"curriculum bare", describe},
                                       {"export bare --out episodes", describe},
                                       {"card bare --out card2 --no-video", describe},
                                       {"card bare --out card2", relative},
                                       {"adapt bare --task all", describe},
                                       {"eval bare", relative},
                                       {"openloop bare --out x.gif", relative},
                                       {"model-error bare", relative},
                                       {"finetune bare --task centre --steps 5", relative},
                                       {"train --logdir bare", relative}};
    read_quietly(readings, sizeof readings / sizeof *readings);
    shell("rm -r bare/checkpoints"); // they know the path that was there
    program_succeed("eval bare --envs 1 --cases dr --plugin m.so");
    assert_true(was_loaded());
}

// A description that lies about the file, one that is damaged, and one that is hostile.
TEST_CASE(plugin_json_is_only_data)
{
    static const struct {
        const char *edit, *message;
    } lies[] = {
        {"s#\"path\": .*#\"path\": \"m.so\",#", "a path that is not absolute"},
        {"s#\"sha256\": .*#\"sha256\": \"0\"#", "an invalid hash"},
        {"s#waker-plugin-1#waker-plugin-9#", "not 'waker-plugin-1'"},
        {"s#\"name\": \"friction\"#\"name\": \"../friction\"#", "is not a name"},
        {"s#\"action_size\": 2#\"action_size\": 99999999999#", "too large"},
        {"s#\"action_size\": 2#\"action_size\": -2#", "no whole number"},
        {"s#\"min\": 0.1#\"min\": null#", "are not a range"},
        {"s#\"name\": \"even\"#\"name\": \"\\\\u001b[2J\"#", "a rule without a printable name"},
        {"s#\"step\": 0.1#\"step\": 0.17#", "whole steps"},
        {"$d", "not JSON"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        shell("rm -rf lying && cp -r made lying && sed -i '%s' lying/plugin.json", lies[i].edit);
        const char *const commands[] = {"curriculum lying", "export lying --out episodes",
                                        "adapt lying --task all", "eval lying",
                                        "train --logdir lying"};
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
            program_refuses(commands[k], lies[i].message);
            assert_false(was_loaded());
        }
    }
    shell("rm -rf lying");
}

static void write_file(const char *name, const char *format, const char *value)
{
    wk_error err = {0};
    char path[512], text[1200];
    snprintf(text, sizeof text, format, value);
    assert_ok(wk_file_write(inside(name, path), text, strlen(text), &err));
}

// A configuration file is somebody's text too.
TEST_CASE(a_configuration_file_does_not_load_code)
{
    write_file("evil.yaml", "evil:\n  plugin: %s/m.so\n", place);
    write_file("rule.yaml", "evil:\n  curriculum.plugin: %s/m.so\n", place);
    write_file("near.yaml", "evil:\n  plugin: %s\n", "m.so");
    static const reading readings[] = {
        {"config --config-file evil.yaml --configs evil", NAME_IT},
        {"train --logdir new --config-file evil.yaml --configs toy evil", NAME_IT},
        {"config --config-file rule.yaml --configs evil", NAME_RULE},
        {"train --logdir new --config-file rule.yaml --configs toy evil", NAME_RULE},
        {"config --config-file near.yaml --configs evil", "add --plugin FILE"},
        {"config --config-file evil.yaml --list", NULL},
    };
    read_quietly(readings, sizeof readings / sizeof *readings);
    shell("! test -e new");
    program_succeed("config --config-file evil.yaml --configs evil --plugin m.so --prefill 60");
    assert_true(was_loaded());
}

// A command that is added must be tried above, or be one that reads no run. Grids that name code
// are tried in test_sweep.c.
TEST_CASE(every_command_is_covered)
{
    static const reading readings[] = {READINGS("made")};
    static const char *const others[] = {
        "sweep",    "sweep status", "sweep add",  "sweep retry", "sweep cancel", "sweep run",
        "envs set", "envs",         "envs check", "render",      "bench env",    "bench update",
        "doctor",   "man",          "completion", "theory"};
    program_result r = program_run("--help");
    const char *line = strstr(r.out, "Commands:\n");
    assert_non_null(line);
    for (line += strlen("Commands:\n"); strncmp(line, "  ", 2) == 0;
         line = strchr(line, '\n') + 1) {
        char name[24];
        snprintf(name, sizeof name, "%.*s", 22, line + 2);
        for (size_t end = strlen(name); end > 0 && name[end - 1] == ' ';)
            name[--end] = 0;
        bool known = false;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            known |= strcmp(others[i], name) == 0;
        for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
            known |= strncmp(readings[i].command, name, strlen(name)) == 0 &&
                     readings[i].command[strlen(name)] == ' ';
        if (!known) fail_msg("'waker %s' is not tried with a run that names code", name);
    }
}

TEST_CASE(a_named_plugin_is_loaded_and_stored_absolute)
{
    char path[1200];
    snprintf(path, sizeof path, "plugin: \"%s/m.so\"", place);
    expect_file_parts("made/config.yaml", path, "domain: ball-on-table", "rule: even");
    static const char *const commands[] = {
        "eval made --envs 1 --cases dr --plugin m.so", "card made --out named --plugin m.so",
        "openloop made --out x.gif --plugin ./m.so", "model-error made --envs 1 --plugin m.so",
        "finetune made --task centre --steps 70 --quiet --plugin m.so"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_succeed("%s", commands[i]);
        assert_true(was_loaded());
    }
    // Named from another folder, for a run in another folder: it is the caller's folder that
    // counts.
    shell("mkdir -p far/away && cp m.so far/away/n.so");
    program_expect_success(
        program_run_after("cd far/away &&", "eval ../../made --envs 1 --cases dr --plugin n.so"));
    assert_true(was_loaded());
    program_refuses("eval made --plugin none.so", "there is no file 'none.so'");
    program_refuses("eval made --plugin made/config.yaml", "not a shared object");
}

TEST_CASE(options_that_have_no_place_are_refused)
{
    program_succeed("train --quiet --logdir plain " OPTIONS);
    program_refuses("eval plain --plugin m.so",
                    "'m.so' is not for 'plain', whose domain is built in");
    program_refuses("eval plain --python m.py:make", "'m.py:make' is not for 'plain'");
    program_refuses("finetune made --task centre --steps 5 --curriculum.plugin m.so",
                    "add --curriculum run");
    assert_false(was_loaded());
    shell("! test -e plain/plugin.json");
    program_refuses("train --quiet --logdir made " OPTIONS,
                    "holds a run with a plug-in; to resume it add --plugin ");
}

TEST_CASE(a_changed_file_is_noticed)
{
    shell("cp m.so changing.so && cp -r made changing && rm -rf changing/finetune");
    shell("cp " PLUGINS "marker2.so changing.so");
    program_result r = program_succeed("eval changing --envs 1 --cases dr --plugin changing.so");
    expect_parts(r.err, "changed since the run was started: SHA-256 now ");
    // Training on makes it the run's own.
    r = program_succeed("train --logdir changing " OPTIONS " --steps 540 --plugin changing.so "
                        "--curriculum.plugin changing.so");
    expect_parts(r.err, "changed since the run was started");
    r = program_succeed("eval changing --envs 1 --cases dr --plugin changing.so");
    assert_null(strstr(r.err, "changed"));
    // Another domain under the same name is another run.
    shell("cp " PLUGINS "marker3.so changing.so");
    program_refuses("eval changing --plugin changing.so", "the episode_steps changed");
    program_refuses("train --logdir changing " OPTIONS
                    " --plugin changing.so --curriculum.plugin changing.so",
                    "the episode_steps changed");
    was_loaded();
}

// The file may move: naming it where it is now continues the run, to the same bytes.
TEST_CASE(a_moved_file_continues_the_run)
{
    static const char more[] = OPTIONS " --quiet --checkpoint.every_steps 0";
    shell("cp m.so first.so");
    program_succeed("train --logdir stays %s --steps 300 --plugin m.so --curriculum.plugin m.so",
                    more);
    program_succeed(
        "train --logdir moves %s --steps 200 --plugin first.so --curriculum.plugin first.so", more);
    shell("mkdir elsewhere && mv first.so elsewhere/second.so");
    program_succeed("train --logdir moves %s --steps 300 --plugin "
                    "elsewhere/second.so --curriculum.plugin elsewhere/second.so",
                    more);
    expect_same_end("stays", "moves");
    expect_file_parts("moves/plugin.json", "/elsewhere/second.so");
    was_loaded();
}

TEST_MAIN(setup_runs, teardown)
