// tools/setup on a pretended machine: a folder with empty headers and libraries, and a PATH on
// which the commands of tools/dependencies, apt-get, sudo and id are scripts.
#include "support/check.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MACHINE "setup-machine"

typedef struct row {
    char groups[32], package[32], things[2][32];
    int count;
} row;
static row rows[64];
static int row_count;

static int read_rows(void **state)
{
    FILE *list = fopen(WAKER_SOURCE_DIR "/tools/dependencies", "r");
    if (!list) return -1;
    for (char line[256]; row_count < 64 && fgets(line, sizeof line, list);) {
        row *r = &rows[row_count];
        if (line[0] == '#') continue;
        r->count =
            sscanf(line, "%31s %31s %31s %31s", r->groups, r->package, r->things[0], r->things[1]) -
            2;
        if (r->count < 1) return -1;
        row_count++;
    }
    return fclose(list);
}

static bool in_groups(const row *r, const char *groups)
{
    char copy[sizeof r->groups];
    strcpy(copy, r->groups);
    for (char *group = strtok(copy, ","); group; group = strtok(NULL, ","))
        if (strstr(groups, group)) return true;
    return false;
}

static void shell(const char *command)
{
    if (system(command) != 0) fail_msg("%s", command);
}

// A file of the machine, with a script as its content.
static void put(const char *path, const char *script)
{
    char name[128];
    snprintf(name, sizeof name, MACHINE "/%s", path);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\n%s\n", script) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(name, 0755), 0);
}

// Where the machine has what a row looks for.
static const char *path_of(const char *thing)
{
    static char path[64];
    size_t length = strlen(thing);
    if (length > 2 && strcmp(thing + length - 2, ".h") == 0)
        snprintf(path, sizeof path, "usr/include/%s", thing);
    else if (strncmp(thing, "-l", 2) == 0)
        snprintf(path, sizeof path, "usr/lib/lib%s.so", thing + 2);
    else if (strncmp(thing, "lib", 3) == 0)
        snprintf(path, sizeof path, "usr/lib/%s", thing);
    else
        snprintf(path, sizeof path, "bin/%s", thing);
    return path;
}

static void take_away(const char *thing)
{
    char path[128];
    snprintf(path, sizeof path, MACHINE "/%s", path_of(thing));
    assert_int_equal(remove(path), 0);
}

// A machine with everything of these groups, what the script itself calls, an apt-get that notes
// how it was called, and a copy of the tools in a project that has its MuJoCo already.
static void make_machine(const char *groups, int user)
{
    shell("rm -rf " MACHINE " && mkdir -p " MACHINE "/bin " MACHINE "/usr/lib " MACHINE
          "/usr/include/mujoco && for tool in cat dirname env grep ls mkdir paste "
          "rm sed sort tr uname; do ln -s \"$(command -v $tool)\" " MACHINE "/bin/; done");
    for (int i = 0; i < row_count; i++)
        for (int k = 0; in_groups(&rows[i], groups) && k < rows[i].count; k++)
            put(path_of(rows[i].things[k]), "");
    put("bin/id", user ? "echo 1000" : "echo 0");
    put("bin/apt-get", "echo \"$*\" >>" MACHINE "/apt");
    shell("mkdir -p " MACHINE "/project/build-deps/mujoco && cp -r " WAKER_SOURCE_DIR
          "/tools " MACHINE "/project/ && sed -n '/^[0-9]/{s/ .*//p; q;}' " WAKER_SOURCE_DIR
          "/tools/mujoco-versions >" MACHINE "/project/build-deps/mujoco/made-from-wheel");
}

// Runs tools/setup there; fails where its exit status is not `status`. Returns what it said.
static const char *setup(const char *variables, const char *groups, int status)
{
    static char out[4096];
    char command[1024];
    snprintf(command, sizeof command,
             "env -u MUJOCO_DIR -u CMAKE_PREFIX_PATH -u SETUP_DRY_RUN SETUP_ROOT=" MACHINE
             " PATH=" MACHINE "/bin %s /bin/sh " MACHINE "/project/tools/setup %s 2>&1",
             variables, groups);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, sizeof out - 1, pipe)] = '\0';
    int ended = pclose(pipe);
    if (WEXITSTATUS(ended) != status) fail_msg("%s: status %d, '%s'", command, ended, out);
    return out;
}

static void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' lacks '%s'", text, part);
}

TEST_CASE(the_program_needs_nothing_of_the_tests)
{
    make_machine("build", 0);
    assert_string_equal(setup("", "build", 0), "");
    const char *said = setup("SETUP_DRY_RUN=1", "test", 1);
    expect_part(said, "libcmocka-dev");
    expect_part(said, "libosmesa6");
    expect_part(said, "python3-pip");
}

// A header without its library, or the other way round, is not a package.
TEST_CASE(a_package_that_is_half_there_is_missing)
{
    make_machine("build lint", 0);
    for (int i = 0; i < row_count; i++)
        for (int k = 0; in_groups(&rows[i], "build lint") && k < rows[i].count; k++) {
            take_away(rows[i].things[k]);
            char expected[64];
            snprintf(expected, sizeof expected, "Missing: %s\n", rows[i].package);
            assert_string_equal(setup("SETUP_DRY_RUN=1", "lint", 1), expected);
            put(path_of(rows[i].things[k]), "");
        }
}

TEST_CASE(root_installs_what_is_missing_and_looks_again)
{
    make_machine("build", 0);
    take_away("-lopenblas");
    expect_part(setup("", "build", 1),
                "not all there: libopenblas-dev\n"); // this apt-get installs nothing
    put("bin/apt-get", "echo \"$*\" >>" MACHINE "/apt; case $1 in install) : >" MACHINE
                       "/usr/lib/libopenblas.so;; esac");
    assert_string_equal(setup("", "build", 0), "Missing: libopenblas-dev\n");
    shell("[ \"$(tail -2 " MACHINE "/apt)\" = \"$(printf '%s\\n' 'update -qq' "
          "'install -y -qq --no-install-recommends libopenblas-dev')\" ]");
}

TEST_CASE(a_user_without_sudo_is_given_the_line_to_ask_for)
{
    static const char line[] =
        "\napt-get install --no-install-recommends libopenblas-dev libyaml-dev\n";
    make_machine("build", 1000);
    assert_string_equal(setup("", "build", 0), "");
    take_away("cblas.h");
    take_away("-lyaml");
    expect_part(setup("", "build", 1), line);
    put("bin/sudo", "echo refused >&2; exit 1");
    expect_part(setup("", "build", 1), line);
    shell("[ ! -e " MACHINE "/apt ]");
}

TEST_CASE(other_places_count_as_they_do_for_cmake)
{
    make_machine("build", 0);
    expect_part(setup("SETUP_DRY_RUN=1 MUJOCO_DIR=system", "build", 1), "Missing: libmujoco-dev\n");
    shell("mkdir -p " MACHINE "/opt/include && mv " MACHINE "/usr/include/yaml.h " MACHINE
          "/opt/include");
    setup("SETUP_DRY_RUN=1", "build", 1);
    assert_string_equal(setup("CMAKE_PREFIX_PATH=" MACHINE "/opt", "build", 0), "");
}

// A machine without MuJoCo, and a tools/mujoco-wheel that ends with `status`.
static void make_machine_without_mujoco(const char *groups, int user, int status)
{
    make_machine(groups, user);
    shell("rm -r " MACHINE "/project/build-deps");
    char script[128];
    snprintf(script, sizeof script, "echo fetching $1 for $2; exit %d", status);
    put("project/tools/mujoco-wheel", script);
}

TEST_CASE(mujoco_is_fetched_in_the_tested_version)
{
    make_machine_without_mujoco("build", 0, 0);
    expect_part(setup("SETUP_DRY_RUN=1", "build", 1), "Missing: python3 python3-pip\n");
    assert_string_equal(setup("MUJOCO_DIR=elsewhere", "build", 0), "");
    make_machine_without_mujoco("build mujoco", 0, 0);
    expect_part(setup("SETUP_DRY_RUN=1", "build", 1), "Missing in build-deps/mujoco: MuJoCo ");
    expect_part(setup("", "build", 0), "build-deps/mujoco\n");
}

TEST_CASE(where_it_cannot_be_fetched_the_systems_is_taken)
{
    make_machine_without_mujoco("build mujoco system-mujoco", 0, 1);
    expect_part(setup("", "build", 0), "cannot be fetched here; building with the system's");
    make_machine_without_mujoco("build mujoco", 0, 1);
    expect_part(setup("", "build", 1), "not all there: libmujoco-dev\n");
    // Nor is pip asked for where nothing can be installed and the system has one.
    make_machine_without_mujoco("build system-mujoco", 1000, 1);
    take_away("pip3");
    expect_part(setup("", "build", 0), "building with the system's");
}

TEST_CASE(an_unknown_group_is_refused)
{
    make_machine("build", 0);
    expect_part(setup("", "bild", 2), "no group 'bild'");
}

static int remove_machine(void **state)
{
    return system("rm -rf " MACHINE);
}

TEST_MAIN(read_rows, remove_machine)
