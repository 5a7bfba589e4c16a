// tools/mujoco-wheel with a python3 that keeps a record of what pip is requested, and unpacks
// wheels as PyPI has them: MuJoCo 4's `mujoco` is empty, the library is in `mujoco-core`.
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PLACE "mujoco-wheel-test"

static const char python[] =
    "#!/bin/sh\n"
    "case $2 in\n"
    "pip)\n"
    "    while [ $# -gt 1 ]; do case $1 in -d) to=$2 ;; -r) from=$2 ;; esac; shift; done\n"
    "    read -r name hashes <\"$from\"\n"
    "    echo \"$name\" >>" PLACE "/asked\n"
    "    echo \"$hashes\" >" PLACE "/hashes\n"
    "    echo \"$name\" >\"$to/$(echo \"$name\" | sed 's/-core/_core/; s/==/-/')-cp311.whl\" ;;\n"
    "zipfile)\n"
    "    read -r name <\"$4\" && mkdir -p \"$5/mujoco/include/mujoco\"\n"
    "    version=${name#*==}\n"
    "    case $name in mujoco==4*) exit 0 ;; esac\n"
    "    echo \"$version\" >\"$5/mujoco/include/mujoco/mujoco.h\"\n"
    "    echo \"$version\" >\"$5/mujoco/libmujoco.so.$version\" ;;\n"
    "esac\n";

static int make_place(void **state)
{
    if (system("rm -rf " PLACE " && mkdir -p " PLACE "/bin") != 0) return -1;
    FILE *file = fopen(PLACE "/bin/python3", "w");
    if (!file || fputs(python, file) < 0 || fclose(file) != 0) return -1;
    return chmod(PLACE "/bin/python3", 0755);
}

static int remove_place(void **state)
{
    return system("rm -rf " PLACE);
}

// What a shell command says, without the end of its last line; fails where it does not end with
// `status`.
static const char *shell(const char *command, int status)
{
    static char out[2048];
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = fread(out, 1, sizeof out - 1, pipe);
    if (size && out[size - 1] == '\n') size--;
    out[size] = '\0';
    int ended = pclose(pipe);
    if (WEXITSTATUS(ended) != status) fail_msg("%s: status %d, '%s'", command, ended, out);
    return out;
}

static const char *wheel(const char *version, const char *folder, int status)
{
    char command[512];
    snprintf(command, sizeof command,
             "PATH=" PLACE "/bin:$PATH " WAKER_SOURCE_DIR "/tools/mujoco-wheel %s " PLACE
             "/%s 2>&1",
             version, folder);
    return shell(command, status);
}

// The version that tools/mujoco-versions has for 3 or 4.
static const char *tested(const char *major)
{
    static char version[32];
    char command[256];
    snprintf(command, sizeof command,
             "grep '^%s[.].*PyPI ' " WAKER_SOURCE_DIR "/tools/mujoco-versions | cut -d' ' -f1",
             major);
    snprintf(version, sizeof version, "%s", shell(command, 0));
    return version;
}

static void expect_asked(const char *package, const char *version)
{
    char expected[64];
    snprintf(expected, sizeof expected, "%s==%s", package, version);
    assert_string_equal(shell("tail -n 1 " PLACE "/asked", 0), expected);
}

TEST_CASE(each_major_version_has_a_tested_one)
{
    wheel("3", "three", 0);
    expect_asked("mujoco", tested("3"));
    assert_string_equal(shell("cat " PLACE "/three/lib/libmujoco.so", 0), tested("3"));
    wheel("4", "four", 0);
    expect_asked("mujoco-core", tested("4"));
    assert_string_equal(shell("cat " PLACE "/four/lib/libmujoco.so", 0), tested("4"));
    shell("grep -cE '^(--hash=sha256:[0-9a-f]{64} ?){2}$' " PLACE "/hashes", 0);
    const char *said = wheel("2", "two", 1);
    if (!strstr(said, "no MuJoCo 2 of PyPI")) fail_msg("%s", said);
}

TEST_CASE(any_version_can_be_had)
{
    wheel("3.3.7", "other", 0);
    expect_asked("mujoco", "3.3.7");
    wheel("4.1.0", "newer", 0);
    expect_asked("mujoco-core", "4.1.0");
    assert_string_equal(shell("cat " PLACE "/hashes", 0), ""); // none is known
}

TEST_CASE(a_folder_of_the_version_is_kept_and_of_another_replaced)
{
    wheel("3.3.7", "folder", 0);
    wheel("3.3.7", "folder", 0);
    assert_string_equal(shell("grep -c . " PLACE "/asked", 0), "1");
    wheel("4.1.0", "folder", 0);
    assert_string_equal(shell("cat " PLACE "/folder/include/mujoco/mujoco.h", 0), "4.1.0");
    assert_string_equal(shell("cd " PLACE "/folder/lib && echo *", 0),
                        "libmujoco.so libmujoco.so.4.1.0");
}

TEST_CASE(a_folder_of_someone_else_is_left_alone)
{
    shell("mkdir -p " PLACE "/usr/lib && : >" PLACE "/usr/lib/libc.so", 0);
    const char *said = wheel("4.1.0", "usr", 1);
    if (!strstr(said, "was not made by this program")) fail_msg("%s", said);
    shell("test -e " PLACE "/usr/lib/libc.so", 0);
}

TEST_MAIN_EACH(make_place, remove_place)
