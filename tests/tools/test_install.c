// An installation below a prefix of its own, used as a stranger would: the program, the library
// through pkg-config, the examples; and taken away again.
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

// Relative to the tests' folder, where this runs; removed by the shell.
#define PLACE "install-place"

static char out[1 << 16];

// Runs a script with PREFIX and what finds the library there; fails where it does. Returns what it
// said.
static const char *shell(const char *script)
{
    char command[4096];
    snprintf(command, sizeof command,
             "(set -e; not() { if \"$@\"; then return 1; fi; }; PREFIX=$PWD/" PLACE
             "/prefix; SOURCE=" WAKER_SOURCE_DIR "; BUILD=" WAKER_BINARY_DIR
             "; unset DESTDIR MAKEFLAGS; LIBDIR=$(echo "
             "$PREFIX/lib*/pkgconfig $PREFIX/lib/*/pkgconfig | tr ' ' '\\n' | grep -v '\\*' || :); "
             "export PKG_CONFIG_PATH=$LIBDIR; %s) 2>&1",
             script);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, sizeof out - 1, pipe)] = '\0';
    int ended = pclose(pipe);
    if (ended != 0) fail_msg("%s\nended with %d:\n%s", script, ended, out);
    return out;
}

static int install_all(void **state)
{
#ifdef INSTRUMENTED
    return 0;
#endif
    shell("rm -rf " PLACE "; mkdir " PLACE "; $SOURCE/tools/install $BUILD $PREFIX");
    return 0;
}

static int remove_all(void **state)
{
    return system("rm -rf " PLACE);
}

static void only_plain_builds(void)
{
#ifdef INSTRUMENTED
    skip();
#endif
}

TEST_CASE(the_program_works_from_its_prefix)
{
    only_plain_builds();
    assert_non_null(strstr(shell("cd /; $PREFIX/bin/waker --version"), "waker 0."));
    shell("$PREFIX/bin/waker envs toy >/dev/null");
}

TEST_CASE(a_prefix_may_be_written_in_any_way)
{
    only_plain_builds();
    shell("cd " PLACE "; $SOURCE/tools/install $BUILD here/; grep -qx bin/waker "
          "here/share/waker/installed; $SOURCE/tools/uninstall here; not test -e here/bin/waker");
}

TEST_CASE(tools_say_what_they_need)
{
    shell("for tool in bundle coverage install uninstall wheel wheel-files; do "
          "$SOURCE/tools/$tool 2>&1 | grep \"usage: tools/$tool \"; done");
    assert_non_null(strstr(shell("not $SOURCE/tools/bundle nowhere"), "there is no nowhere/waker"));
    // A library that the loader does not find is not left out silently.
    shell("mkdir -p tools-place; printf '#!/bin/sh\\necho \"libx.so => not found\"\\n' "
          ">tools-place/ldd; chmod +x tools-place/ldd");
    const char *said = shell("PATH=$PWD/tools-place:$PATH; not $SOURCE/tools/bundle $BUILD; not "
                             "test -e dist; not $SOURCE/tools/wheel-files $BUILD tools-place/out; "
                             "not test -e tools-place/out; rm -r tools-place");
    assert_non_null(strstr(said, "libx.so => not found"));
}

TEST_CASE(manual_pages_completions_and_documents_are_there)
{
    only_plain_builds();
    shell("cd $PREFIX/share; ls man/man1/waker.1 man/man1/waker-train.1 "
          "man/man1/waker-bench-env.1 bash-completion/completions/waker zsh/*/_waker "
          "doc/waker/copyright doc/waker/examples/plugin/ball.c");
    shell("$PREFIX/bin/waker man train | cmp - $PREFIX/share/man/man1/waker-train.1");
}

// What is declared is found here in another way than in cmake/exports.cmake.
TEST_CASE(the_library_exports_what_the_public_headers_declare_and_nothing_else)
{
    only_plain_builds();
    shell(
        "cat $PREFIX/include/waker/*.h | sed 's,//.*,,; /^ *#/d; /\\\\$/d' | tr '\\n' ' ' | "
        "tr ';{}' '\\n\\n\\n' | grep -v 'typedef\\|visibility' | grep -oE '\\bwk_[a-z0-9_]+\\(' | "
        "tr -d '(' | sort -u >" PLACE "/declared");
    shell("nm -D --defined-only $PREFIX/lib*/libwaker.so $PREFIX/lib/*/libwaker.so 2>/dev/null | "
          "sed -n 's/.* [^A] \\(.*\\)@@WAKER_0$/\\1/p' | sort >" PLACE "/exported; "
          "test $(wc -l <" PLACE "/exported) -gt 50; diff " PLACE "/declared " PLACE "/exported");
    // Nothing without a version, either.
    shell("nm -D --defined-only $(pkg-config --variable=libdir waker)/libwaker.so >" PLACE
          "/all; not grep -v WAKER_0 " PLACE "/all");
}

TEST_CASE(the_library_has_a_soname)
{
    only_plain_builds();
    shell("cd $(pkg-config --variable=libdir waker); "
          "objdump -p libwaker.so | grep 'SONAME *libwaker.so.0$'; ls libwaker.so.0 libwaker.a");
}

TEST_CASE(every_example_builds_with_pkg_config_alone)
{
    only_plain_builds();
    shell("cp -r $PREFIX/share/doc/waker/examples " PLACE "/; cd " PLACE "/examples; "
          "ls *.c | while read -r file; do "
          "cc -Wall -Werror -O1 $file -o ${file%.c} $(pkg-config --cflags --libs waker) "
          "-Wl,-rpath,$(pkg-config --variable=libdir waker) || exit 1; done; "
          "ldd ./random_actions | grep libwaker.so.0");
    assert_non_null(strstr(shell("cd " PLACE "/examples; ./random_actions toy 4"), "west"));
    assert_non_null(strstr(shell("cd " PLACE "/examples; not ./random_actions nothing 4"),
                           "no domain is called 'nothing'"));
    // A run begun by a program, continued by its directory alone, and its policy at work.
    assert_non_null(strstr(shell("cd " PLACE "/examples; ./train_run run toy steps=200 prefill=60 "
                                 "env.count=3 env.threads=1 train_every=6 replay.capacity=2000 "
                                 "encoder.depth=1 rssm.deter=6 rssm.hidden=6 rssm.stoch=3 "
                                 "rssm.classes=3 units=6 layers=1 ensemble.size=2 batch=2 length=6 "
                                 "horizon=3 log.every=30 tasks=all"),
                           "model loss: "));
    assert_non_null(strstr(shell("cd " PLACE "/examples; ./train_run run"), "nothing is changed"));
    assert_non_null(
        strstr(shell("cd " PLACE "/examples; ./act_with_policy run west 4"), "toy, west, step 20"));
    assert_non_null(strstr(shell("cd " PLACE "/examples; not ./act_with_policy run north"),
                           "no task of this domain is called 'north'"));
    shell("cd " PLACE "/examples; make -s -C plugin; make -s -C curriculum; "
          "$PREFIX/bin/waker envs check plugin/ball.so; test -s curriculum/even.so");
}

TEST_CASE(the_program_of_the_page_on_c_builds_too)
{
    only_plain_builds();
    shell("mkdir " PLACE "/page; cd " PLACE
          "/page; awk '/^    #include/ { inside = 1 } /^[^ ]/ { inside = 0 } "
          "inside { print substr($0, 5) }' $SOURCE/docs/c-api.md >page.c; test -s page.c; "
          "cc -Wall -Werror -O1 page.c -o page $(pkg-config --cflags --libs waker) "
          "-Wl,-rpath,$(pkg-config --variable=libdir waker); mkdir runs");
    // Without a run it says so.
    assert_non_null(strstr(shell("cd " PLACE "/page; not ./page"), "holds no run"));
}

TEST_CASE(the_static_library_links_with_what_pkg_config_says)
{
    only_plain_builds();
    shell("cd " PLACE "; cc -O1 $PREFIX/share/doc/waker/examples/random_actions.c -o static "
          "$(pkg-config --cflags waker) -Wl,-Bstatic -L$(pkg-config --variable=libdir waker) "
          "-lwaker -Wl,-Bdynamic $(pkg-config --static --libs waker); "
          "ldd ./static >needed; not grep libwaker needed; ./static toy 2");
}

TEST_CASE(a_moved_installation_is_found)
{
    only_plain_builds();
    shell("cp -a $PREFIX " PLACE "/moved; "
          "export PKG_CONFIG_PATH=$(find $PWD/" PLACE "/moved -name pkgconfig); "
          "cc -fsyntax-only $(pkg-config --cflags waker) "
          "$PREFIX/share/doc/waker/examples/random_actions.c; "
          "pkg-config --cflags waker | grep " PLACE "/moved; " PLACE "/moved/bin/waker --version");
}

TEST_CASE(destdir_goes_before_the_prefix)
{
    only_plain_builds();
    shell("DESTDIR=$PWD/" PLACE "/stage $SOURCE/tools/install $BUILD /opt/waker; test -x " PLACE
          "/stage/opt/waker/bin/waker; not grep -r stage " PLACE "/stage/opt/waker/share/waker "
          "$(find " PLACE "/stage -name waker.pc); "
          "DESTDIR=$PWD/" PLACE "/stage $SOURCE/tools/uninstall /opt/waker; test -z \"$(find " PLACE
          "/stage ! -type d)\"");
}

TEST_CASE(uninstalling_leaves_what_others_put_there)
{
    only_plain_builds();
    shell("rm -rf " PLACE "/other; $SOURCE/tools/install $BUILD $PWD/" PLACE "/other; cd " PLACE
          "/other; touch bin/theirs include/waker/theirs.h; $SOURCE/tools/uninstall $PWD; "
          "test \"$(find . ! -type d | sort | tr '\\n' ' ')\" = "
          "'./bin/theirs ./include/waker/theirs.h '");
    shell("not $SOURCE/tools/uninstall $PWD/" PLACE "/other");
}

// Folders that installing made go with it, those that were there stay, empty or not.
TEST_CASE(uninstalling_leaves_no_empty_folders)
{
    only_plain_builds();
    shell("cd " PLACE "; rm -rf fresh used; $SOURCE/tools/install $BUILD $PWD/fresh; "
          "$SOURCE/tools/install $BUILD $PWD/fresh; $SOURCE/tools/uninstall $PWD/fresh; "
          "not test -e fresh");
    shell("cd " PLACE "; mkdir -p used/bin used/share/man; $SOURCE/tools/install $BUILD $PWD/used; "
          "$SOURCE/tools/uninstall $PWD/used; test \"$(cd used; find . | sort | tr '\\n' ' ')\" = "
          "'. ./bin ./share ./share/man '");
}

// A list that somebody changed removes nothing outside.
TEST_CASE(a_damaged_list_is_refused)
{
    only_plain_builds();
    shell("mkdir -p " PLACE "/bad/share/waker; touch " PLACE "/precious; "
          "echo ../precious >" PLACE "/bad/share/waker/installed; "
          "not $SOURCE/tools/uninstall $PWD/" PLACE "/bad; test -e " PLACE "/precious");
}

TEST_CASE(release_builds_are_hardened)
{
#ifndef RELEASE
    skip();
#endif
    only_plain_builds();
    shell("for file in $PREFIX/bin/waker $(pkg-config --variable=libdir waker)/libwaker.so; do "
          "readelf -lW $file | grep -q GNU_RELRO; readelf -d $file | grep -q NOW; "
          "readelf -h $file | grep -q 'DYN '; "
          "nm -D $file | grep -q '__stack_chk_fail'; nm -D $file | grep -q '_chk@'; done");
}

// An empty entry would be the current folder.
TEST_CASE(libraries_are_not_looked_for_in_the_current_folder)
{
    only_plain_builds();
    shell("for file in $BUILD/waker $BUILD/libwaker.so $PREFIX/bin/waker "
          "$(pkg-config --variable=libdir waker)/libwaker.so; do "
          "readelf -d $file >" PLACE "/dynamic; "
          "not grep -E 'PATH.*(\\[:|::|:\\]|\\[\\])' " PLACE "/dynamic; done");
}

TEST_MAIN(install_all, remove_all)
