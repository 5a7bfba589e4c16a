// waker ckpt on runs that were damaged, cut or edited: --check finds all of it.
#include "cli/long_runs.h"

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_succeed("train --quiet --logdir run " TINY_OPTIONS
                    " --log.tensorboard false --steps 500");
    return 0;
}

static void expect_sound(const char *command)
{
    program_result r = program_succeed("%s", command);
    expect_parts(r.out, "sound");
}

static void expect_damage(const char *command, const char *part)
{
    program_result r = program_run("%s", command);
    if (r.code != 3 || !strstr(r.out, part))
        fail_msg("'%s' gave %d: %s%s", command, r.code, r.out, r.err);
}

TEST_CASE(a_configuration_without_all_keys_is_refused_by_every_reader)
{
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

TEST_CASE(a_configuration_of_another_run_is_found)
{
    expect_sound("ckpt run --check");
    shell("cp -r run edited && sed -i 's/discount: .*/discount: 0.5/' edited/config.yaml");
    expect_damage("ckpt edited --check", "another config.yaml");
    static const char *const commands[] = {"curriculum edited",
                                           "export edited --out x",
                                           "adapt edited --task east --updates 2",
                                           "finetune edited --task east --steps 9",
                                           "eval edited --policy random",
                                           "model-error edited",
                                           "openloop edited --out x.gif"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_result refused = program_run("%s", commands[i]);
        if (refused.code != 2 || !strstr(refused.err, "another config.yaml"))
            fail_msg("'%s' gave %d: %s", commands[i], refused.code, refused.err);
    }
    program_result r = program_run("train --quiet --logdir edited " TINY_OPTIONS
                                   " --log.tensorboard false --steps 600 --policy.discount 0.5");
    program_expect_error(r, 2, "belongs to another configuration");
}

// An action of the walker is two steps of the simulator.
TEST_CASE(agent_steps_and_control_steps_are_told_apart)
{
    program_result r =
        program_succeed("train --logdir walker --configs terrain-walker " TINY_OPTIONS
                        " --domain terrain-walker --steps 60 --prefill 30 "
                        "--replay.capacity 20000 --log.tensorboard false");
    if (!strstr(r.err, "to 60 agent steps (120 control steps)") ||
        !strstr(r.err, "60/60 agent steps  120 control steps"))
        fail_msg("%s", r.err);
    r = program_succeed("ckpt walker");
    if (!strstr(r.out, "agent steps  control steps") || !strstr(r.out, " MiB  inside") ||
        !strstr(r.out, " 60            120 "))
        fail_msg("%s", r.out);
    program_refuses("curriculum walker --out map.jpg", "end in .png");
    r = program_succeed("ckpt walker --json");
    if (!strstr(r.out, "\"step\": 60") || !strstr(r.out, "\"control_step\": 120"))
        fail_msg("%s", r.out);
}

TEST_CASE(damage_of_the_replay_log_is_found)
{
    static const long places[] = {20, 70, 90, 5000, 20000};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        shell("rm -rf flipped && cp -r run flipped && python3 -c \"f = "
              "open('flipped/replay/replay-00000000.log', 'r+b'); f.seek(%ld); b = f.read(1); "
              "f.seek(%ld); f.write(bytes([b[0] ^ 1]))\"",
              places[i], places[i]);
        expect_damage("ckpt flipped --check", "replay-00000000.log");
    }
    shell("rm -rf flipped && cp -r run flipped && rm -r flipped/replay");
    expect_damage("ckpt flipped --check", "replay");
}

TEST_CASE(damage_of_weights_is_found)
{
    program_prints("ckpt run", "checkpoint", "snapshot");
    shell("cp -r run hit && cd hit/snapshots && for f in *; do printf xyz | "
          "dd of=$f bs=1 seek=$(($(stat -c %%s $f) - 9)) conv=notrunc 2>/dev/null; done");
    expect_damage("ckpt hit --check", "checksum");
}

// Changes the last snapshot.
TEST_CASE(weights_without_checksums_are_found)
{
    static const char edit[] =
        "import glob, json, struct, sys\n"
        "path = sorted(glob.glob('%s/snapshots/*.safetensors'))[-1]\n"
        "data = open(path, 'rb').read()\n"
        "size = struct.unpack('<Q', data[:8])[0]\n"
        "head, body = json.loads(data[8:8 + size]), bytearray(data[8 + size:])\n"
        "head['__metadata__'] = {k: v for k, v in head['__metadata__'].items() if 'crc' not in k}\n"
        "text = json.dumps(head).encode()\n"
        "text += b' ' * (-len(text) %% 8)\n"
        "open(path, 'wb').write(struct.pack('<Q', len(text)) + text + body)\n";
    FILE *file = fopen(inside("edit.py", (char[512]){0}), "w");
    assert_non_null(file);
    fprintf(file, edit, "bare");
    fclose(file);
    shell("cp -r run bare && python3 edit.py");
    expect_damage("ckpt bare --check", "has no checksums");
}

// Those of killed processes go, whatever a user has made stays.
TEST_CASE(temporary_files_of_killed_processes_are_deleted)
{
    static const char adapt[] = "adapt left --task all --quiet --updates 4 --snapshot 201";
    static const char tune[] = "finetune left --task west --quiet --steps 40 --snapshot 201";
    shell("cp -r run left");
    program_succeed("%s", adapt);
    program_succeed("%s", tune);
    shell("cd left && touch config.yaml.tmp.12.0 checkpoints/none-yet.tmp.12.0 "
          "snapshots/step-000000000200.safetensors.tmp.7.1 mine.tmp.1.0 config.yaml.tmp && "
          "touch adapt/step-000000000201/weights.safetensors.tmp.3.0 "
          "adapt/step-000000000201/adapt.yaml.tmp.3.0 "
          "finetune/step-000000000201-west/weights.safetensors.tmp.4.0");
    program_succeed("train --quiet --logdir left " TINY_OPTIONS
                    " --log.tensorboard false --steps 520");
    program_succeed("adapt left --task all --quiet --updates 5 --snapshot 201");
    program_succeed("finetune left --task west --quiet --steps 50 "
                    "--snapshot 201");
    shell("test \"$(cd left && find . -name '*.tmp*' | sort | tr '\\n' ' ')\" = "
          "'./config.yaml.tmp ./mine.tmp.1.0 '");
}

TEST_CASE(commands_that_use_an_older_checkpoint_say_so)
{
    static const char *const commands[] = {"curriculum older", "export older --out episodes",
                                           "report older --out page",
                                           "adapt older --task all --updates 2 --snapshot 201"};
    shell("cp -r run older && truncate -s -1 $(ls -d older/checkpoints/step-* | tail -1)/run.bin");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_result r = program_run("%s", commands[i]);
        if (!strstr(r.err, "using the older checkpoint at agent step"))
            fail_msg("'%s' gave %d: %s", commands[i], r.code, r.err);
        assert_int_equal(r.code, 0);
    }
}

TEST_CASE(a_check_beside_a_training_run_has_no_false_alarm)
{
    char options[1200];
    snprintf(options, sizeof options,
             "train --quiet --logdir busy " TINY_OPTIONS
             " --log.tensorboard false --checkpoint.every_steps 3 --checkpoint.keep 1 --steps %d",
             LONG_STEPS);
    pid_t child = start(options);
    wait_for_metrics("busy");
    for (int i = 0; i < 60; i++) {
        program_result r = program_run("ckpt busy --check");
        if (r.code != 0) fail_msg("exit code %d: %s%s", r.code, r.out, r.err);
    }
    kill(child, SIGTERM);
    int status;
    waitpid(child, &status, 0);
}

TEST_MAIN(setup_run, teardown)
