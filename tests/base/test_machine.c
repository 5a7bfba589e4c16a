// Limits of control groups, from trees as the kernel shows them.
#include "base/machine.h"
#include "support/check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static char root[] = "limits-XXXXXX";

static int make_root(void **state)
{
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void shell(const char *line)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && rm -rf * && %s", root, line);
    assert_int_equal(system(command), 0);
}

static wk_limits limits(void)
{
    char membership[64];
    snprintf(membership, sizeof membership, "%s/self", root);
    return wk_limits_read(membership, root);
}

TEST_CASE(without_groups_there_is_no_limit)
{
    shell("true");
    assert_true(isinf(limits().cpus) && limits().memory == UINT64_MAX);
    shell("mkdir a && echo 0::/a >self && echo max 100000 >a/cpu.max && echo max >a/memory.max");
    assert_true(isinf(limits().cpus) && limits().memory == UINT64_MAX);
    shell("mkdir cpu memory && printf '2:memory:/\n1:cpu:/\n' >self && echo -1 "
          ">cpu/cpu.cfs_quota_us && echo 100000 >cpu/cpu.cfs_period_us && "
          "echo 9223372036854771712 >memory/memory.limit_in_bytes");
    assert_true(isinf(limits().cpus) && limits().memory == UINT64_MAX);
}

TEST_CASE(the_tightest_group_counts)
{
    shell("mkdir -p a/b && echo 0::/a/b >self && echo 150000 100000 >a/cpu.max && "
          "echo 300000 100000 >a/b/cpu.max && echo 1000000 >a/b/memory.max && "
          "echo 2000000 >a/memory.max");
    assert_float_equal(limits().cpus, 1.5, 1e-9);
    assert_int_equal(limits().memory, 1000000);
}

// The path of the membership file is that of the host, and only the root is visible.
TEST_CASE(a_container_sees_its_own_limits)
{
    shell(
        "mkdir cpu,cpuacct memory && printf '4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n' >self "
        "&& echo 200000 >cpu,cpuacct/cpu.cfs_quota_us && echo 100000 "
        ">cpu,cpuacct/cpu.cfs_period_us && echo 4096 >memory/memory.limit_in_bytes");
    assert_float_equal(limits().cpus, 2, 1e-9);
    assert_int_equal(limits().memory, 4096);
    shell("echo 0::/../../x >self && echo 50000 100000 >cpu.max && echo 7 >memory.max");
    assert_float_equal(limits().cpus, 0.5, 1e-9);
    assert_int_equal(limits().memory, 7);
}

TEST_MAIN(make_root, remove_root)
