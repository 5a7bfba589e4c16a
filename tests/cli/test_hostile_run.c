// Runs that somebody has made up: links out of the run, numbers beyond anything, names that are
// none, paths to code, files that are something else. Every command that reads runs refuses them or
// reads past them; none crashes, hangs, writes outside of what it was told, or follows a link to
// change something.
#include "cli/long_runs.h"

#define REWARD WAKER_BINARY_DIR "/tests/plugins/again_west.so"

// What reads runs. Commands that write get a place of their own; "hostile" is the run.
static const char *const commands[] = {"ckpt hostile",
                                       "ckpt hostile --check",
                                       "ckpt hostile --check --json",
                                       "curriculum hostile",
                                       "curriculum hostile --json",
                                       "export hostile --out episodes",
                                       "report hostile --out page",
                                       "card hostile --out card",
                                       "eval hostile --envs 1 --cases dr",
                                       "openloop hostile --out loop.gif --steps 8",
                                       "model-error hostile --envs 1 --steps 9",
                                       "relabel hostile --reward " REWARD,
                                       "adapt hostile --task all --updates 2",
                                       "finetune hostile --task west --steps 20",
                                       "train --logdir hostile --steps 420",
                                       "config --config-file hostile/config.yaml",
                                       "train --logdir new --from hostile --steps 10"};
// Address space is no measure under the address sanitizer.
#ifdef __SANITIZE_ADDRESS__
#define LIMITS "timeout -s KILL 600"
#else
#define LIMITS "ulimit -v 8000000; timeout -s KILL 300"
#endif
enum { COMMANDS = sizeof commands / sizeof *commands };

static const char edit[] =
    "import glob, struct, sys\n"
    "def crc32c(data):\n"
    "    table = []\n"
    "    for i in range(256):\n"
    "        for _ in range(8): i = (i >> 1) ^ 0x82F63B78 if i & 1 else i >> 1\n"
    "        table.append(i)\n"
    "    c = 0xffffffff\n"
    "    for b in data: c = table[(c ^ b) & 255] ^ (c >> 8)\n"
    "    return c ^ 0xffffffff\n"
    "places = {'environments': 24, 'sequence': 32, 'segment': 40, 'offset': 48, 'rows': 56,\n"
    "          'iterations': 72, 'steps': 80, 'episodes': 88, 'updates': 96, 'episode': 128}\n"
    "for path in glob.glob('hostile/checkpoints/step-*/run.bin'):\n"
    "    data = bytearray(open(path, 'rb').read())\n"
    "    at = places[sys.argv[1]]\n"
    "    data[at:at + 8] = struct.pack('<Q', int(sys.argv[2]))\n"
    "    data[-4:] = struct.pack('<I', crc32c(bytes(data[:-4])))\n"
    "    open(path, 'wb').write(data)\n";

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_succeed("train --quiet --logdir run " TINY_OPTIONS
                    " --log.tensorboard false --tasks all");
    program_succeed("eval run --envs 1 --cases dr --quiet");
    FILE *file = fopen(inside("edit.py", (char[512]){0}), "w");
    assert_non_null(file);
    fputs(edit, file);
    fclose(file);
    shell("mkdir outside && echo precious > outside/thesis && cp -r run/. outside/run");
    shell("find outside -type f | sort | xargs sha256sum > outside.sum");
    return 0;
}

// Runs every command on the run as `craft`, a line of shell in the folder around it, has made it.
static void try_all(const char *craft)
{
    for (int i = 0; i < COMMANDS; i++) {
        shell("rm -rf hostile new episodes page card loop.gif && cp -r run hostile && { %s; }",
              craft);
        program_result r = program_run_after(LIMITS, commands[i]);
        // 0: read past it; 1, 2, 3: refused or found. Signals and aborts are above 128.
        if (r.code < 0 || r.code > 3)
            fail_msg("after '%s' the command '%s' gave %d: %s", craft, commands[i], r.code, r.err);
        if (r.code > 0 && r.code < 3 && !*r.err)
            fail_msg("after '%s' the command '%s' failed without a word", craft, commands[i]);
        if (strstr(r.err, "Sanitizer")) fail_msg("'%s': %s", commands[i], r.err);
    }
    shell("sha256sum --quiet -c outside.sum && test \"$(cat outside/thesis)\" = precious");
    shell("test $(find outside -type f | wc -l) = $(wc -l < outside.sum)");
}

TEST_CASE(a_name_does_not_steer_the_terminal)
{
    static const char *const readers[] = {"curriculum", "eval --envs 1 --cases dr",
                                          "train --logdir"};
    shell("cp -r run \"$(printf 'run\\033red')\"");
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        program_result r = program_succeed("%s \"$(printf 'run\\033red')\"", readers[i]);
        if (strchr(r.out, '\x1b') || !strstr(r.out, "run?red"))
            fail_msg("%s: %s", readers[i], r.out);
    }
    // Nor does it turn around what follows it.
    shell("cp -r run \"$(printf 'run\\342\\200\\256der')\"");
    program_prints("curriculum \"$(printf 'run\\342\\200\\256der')\"", "run???der");
}

TEST_CASE(numbers_beyond_any_run)
{
    static const char *const fields[] = {"environments", "segment", "sequence", "rows", "episodes"};
    static const char *const values[] = {"18446744073709551615", "9007199254740992"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char craft[200];
        snprintf(craft, sizeof craft, "python3 edit.py %s %s", fields[i], values[i % 2]);
        try_all(craft);
    }
}

TEST_CASE(links_out_of_the_run)
{
    try_all("rm -r hostile/checkpoints && ln -s ../outside/run/checkpoints hostile/checkpoints");
    try_all("rm -r hostile/replay && ln -s ../outside/run/replay hostile/replay; "
            "rm -r hostile/snapshots && ln -s ../outside/run/snapshots hostile/snapshots");
    try_all("ln -sf ../outside/thesis hostile/metrics.jsonl; "
            "ln -sf ../outside/thesis hostile/lock");
    try_all("ln -s ../../outside hostile/checkpoints/unfinished-step-000000000999; "
            "ln -s ../../outside hostile/checkpoints/step-000000000999; "
            "ln -s ../../outside hostile/snapshots/step-000000000999.safetensors; "
            "ln -s ../outside hostile/adapt; rm -r hostile/eval; ln -s ../outside hostile/eval; "
            "ln -s ../outside hostile/rewards; ln -s ../outside hostile/benchmark");
    try_all("for f in hostile/replay/*.log; do ln -sf ../../outside/thesis $f; done");
}

TEST_CASE(names_that_are_none)
{
    try_all("mkdir hostile/checkpoints/step-99999999999999999999 "
            "hostile/checkpoints/step-000000000402.bak hostile/checkpoints/step--1 && "
            "touch hostile/replay/replay-99999999999999999999.log "
            "hostile/replay/replay-18446744073709551615.log "
            "\"hostile/snapshots/step-000000000201.safetensors.\" "
            "\"hostile/snapshots/$(printf 'a\\033]0;x\\007\\nb')\"");
    try_all("mkdir hostile/rewards hostile/benchmark && head -c 3000 hostile/config.yaml > "
            "hostile/rewards/again.safetensors && mkfifo hostile/rewards/other.safetensors && "
            "echo '{\"parts\": [{\"cvar\": {\"alpha\": [1, 2]}}]}' > hostile/benchmark/x.json");
    try_all("mkdir -p \"hostile/finetune/step-000000000402-../../x\" hostile/eval && "
            "echo '{}' > hostile/eval/$(printf 'x%.0s' $(seq 200)).json");
}

TEST_CASE(files_that_are_something_else)
{
    try_all("rm hostile/metrics.jsonl && mkdir hostile/metrics.jsonl");
    try_all("for f in hostile/checkpoints/*/run.bin hostile/snapshots/*; do rm $f && mkfifo $f; "
            "done");
    try_all("for f in hostile/replay/*.log; do rm $f && mkfifo $f; done");
    try_all("truncate -s 1T hostile/metrics.jsonl; "
            "for f in hostile/checkpoints/*/*; do truncate -s 200G $f; done");
    try_all("mkdir -p hostile/eval && yes '{\"a\":' | tr -d '\\n' | head -c 300000 > "
            "hostile/eval/adapted-step-000000000402.json");
}

TEST_CASE(paths_to_code)
{
    try_all("sed -i 's,^plugin:.*,plugin: '$PWD'/evil.so,; "
            "s,^  plugin:.*,  plugin: '$PWD'/evil.so,' hostile/config.yaml; echo x > evil.so");
    try_all("echo '{\"format\": \"waker-plugin-1\", \"domain_file\": {\"path\": \"/tmp/evil.so\", "
            "\"sha256\": \"00\"}, \"domain\": {\"name\": \"toy\"}}' > hostile/plugin.json");
}

TEST_MAIN(setup_run, teardown)
