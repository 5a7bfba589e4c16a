// Manual pages, docs/cli.md and completions come from the tables of --help: every option of every
// command is in all of them, and the shells complete what the tables say.
#include "base/file.h"
#include "support/check.h"
#include "support/program.h"
#include <stdio.h>
#include <stdlib.h>

enum { COMMANDS_MAX = 64 };

static char commands[COMMANDS_MAX][32];
static int n_commands;

// Names from the list in the program's help.
static void read_commands(void)
{
    program_result r = program_succeed("--help");
    const char *line = strstr(r.out, "Commands:\n");
    assert_non_null(line);
    for (line += strlen("Commands:\n"); *line == ' '; line = strchr(line, '\n') + 1) {
        assert_true(n_commands < COMMANDS_MAX);
        snprintf(commands[n_commands], sizeof *commands, "%.22s", line + 2);
        char *end = commands[n_commands] + strlen(commands[n_commands]);
        while (end[-1] == ' ')
            *--end = '\0';
        n_commands++;
    }
    assert_true(n_commands >= 18);
}

static int read_all(void **state)
{
    if (program_setup(state) != 0) return -1;
    read_commands();
    program_succeed("completion bash >bash.sh");
    program_succeed("completion zsh >_waker");
    return 0;
}

// The next option "--name" of a help text, its name copied; NULL after the last.
static const char *next_option(const char *help, char name[64])
{
    const char *line = strstr(help, "\n  --");
    if (!line) return NULL;
    line += strlen("\n  --");
    snprintf(name, 64, "%.*s", (int)strcspn(line, " \n"), line);
    return line;
}

// What bash offers for the last of the words (a command line with blanks between; a blank at the
// end makes an empty last word), one per line with a newline before each.
static char *offered(const char *line)
{
    program_result r = program_succeed(
        "--version >/dev/null; LINE='%s' bash --norc -c 'source bash.sh; COMP_WORDS=($LINE); "
        "case $LINE in *\" \") COMP_WORDS+=(\"\") ;; esac; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
        "_waker_complete waker \"${COMP_WORDS[COMP_CWORD]}\"; printf \"\\n%%s\" "
        "\"${COMPREPLY[@]}\"; echo' "
        ">.out",
        line);
    return strdup(r.out);
}

static void expect_offered(const char *line, const char *word, bool yes)
{
    char *words = offered(line), wanted[128];
    snprintf(wanted, sizeof wanted, "\n%s\n", word);
    bool found = strstr(words, wanted) != NULL;
    if (found != yes)
        fail_msg("'%s': '%s' is %s: %s", line, word, yes ? "missing" : "offered", words);
    free(words);
}

TEST_CASE(every_option_is_completed_by_bash)
{
    for (int i = 0; i < n_commands; i++) {
        char line[4096], name[64], wanted[80];
        snprintf(line, sizeof line, "waker %s --", commands[i]);
        char *words = offered(line);
        program_result help = program_run("%s --help", commands[i]);
        for (const char *at = help.out; (at = next_option(at, name));) {
            snprintf(wanted, sizeof wanted, "\n--%s\n", name);
            bool key = strcmp(name, "KEY") == 0;
            if (key ? !strstr(words, "\n--rssm.deter\n") : !strstr(words, wanted))
                fail_msg("%s lacks --%s: %s", line, name, words);
        }
        free(words);
    }
}

// A name at the beginning of a line, as manual pages write it: in bold, with hyphens to paste.
static void bold(const char *before, const char *name, char out[128])
{
    char plain[64];
    snprintf(plain, sizeof plain, "%s%s", before, name);
    int length = snprintf(out, 128, "\n\\fB");
    for (const char *c = plain; *c; c++)
        length += snprintf(out + length, 128 - (size_t)length, *c == '-' ? "\\%c" : "%c", *c);
    snprintf(out + length, 128 - (size_t)length, "\\fR");
}

TEST_CASE(every_option_is_on_its_manual_page)
{
    program_succeed("man --out pages");
    for (int i = 0; i < n_commands; i++) {
        char path[4096], name[64], wanted[128];
        snprintf(path, sizeof path, "pages/waker-%s.1", commands[i]);
        if (strchr(path, ' ')) *strchr(path, ' ') = '-';
        char *page = (char *)program_read(path, NULL);
        if (!page) fail_msg("no %s", path);
        program_result help = program_run("%s --help", commands[i]);
        for (const char *at = help.out; (at = next_option(at, name));) {
            bold("--", name, wanted);
            if (!strstr(page, wanted)) fail_msg("%s lacks --%s", path, name);
        }
        free(page);
    }
}

TEST_CASE(the_page_of_the_program_names_every_command)
{
    program_result r = program_succeed("man");
    for (int i = 0; i < n_commands; i++) {
        char wanted[128];
        bold("", commands[i], wanted);
        if (!strstr(r.out, wanted)) fail_msg("waker.1 lacks %s", commands[i]);
    }
    expect_parts(r.out, "\n\\fB75\\fR\nstopped early");
}

// Whether a line begins with a request of man(7) that pages use.
static bool is_request(const char *line)
{
    const char *const requests[] = {".TH ", ".SH ", ".TP\n", ".PP\n", ".EX\n", ".EE\n", ".BR "};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strncmp(line, requests[i], strlen(requests[i])) == 0) return true;
    return false;
}

// Text that begins with a dot or a quote is text all the same.
TEST_CASE(pages_have_no_request_but_those_of_man)
{
    for (int i = 0; i < n_commands; i++) {
        program_result r = program_succeed("man %s", commands[i]);
        for (const char *line = r.out; *line; line = strchr(line, '\n') + 1)
            if ((*line == '.' || *line == '\'') && !is_request(line))
                fail_msg("%s: %.60s", commands[i], line);
    }
}

TEST_CASE(names_that_do_not_exist_are_refused)
{
    program_refuses("man trian", "did you mean 'train'?");
    program_refuses("man train --out pages", "leave out the command");
    program_refuses("man train --markdown", "leave out the command");
    program_refuses("completion fish", "unknown shell 'fish'");
}

TEST_CASE(bash_completes_what_the_tables_say)
{
    program_run("--version >/dev/null; mkdir -p runs/a; touch map.png notes.txt ball.so");
    expect_offered("waker ", "train", true);
    expect_offered("waker ", "help", true);
    expect_offered("waker help mod", "model-error", true);
    expect_offered("waker --quiet --threads 2 ", "train", true);
    expect_offered("waker bench ", "update", true);
    expect_offered("waker envs ", "check", true);
    expect_offered("waker envs ", "toy", true);
    expect_offered("waker envs check ", "ball.so", true);
    expect_offered("waker envs check ", "notes.txt", false);
    expect_offered("waker render --domain t", "toy", true);
    expect_offered("waker render --domain t", "clean-up", false);
    expect_offered("waker train --configs toy q", "quick", true);
    expect_offered("waker train --configs toy --rssm.", "--rssm.deter", true);
    expect_offered("waker train --exploration = p", "plan2explore", true);
    expect_offered("waker train --logdir ", "runs", true);
    expect_offered("waker train --logdir ", "map.png", false);
    expect_offered("waker eval runs/a --policy ", "finetuned", true);
    expect_offered("waker eval runs/a --json --task w", "walk", true);
    expect_offered("waker eval ", "runs", true);
    expect_offered("waker curriculum runs/a --out m", "map.png", true);
    expect_offered("waker curriculum runs/a --out ", "notes.txt", false);
    expect_offered("waker curriculum runs/a --top ", "runs", false);
    expect_offered("waker model-error runs/a --out ", "notes.txt", false);
    expect_offered("waker adapt runs/a --device ", "cuda", true);
    expect_offered("waker adapt runs/a --device ", "cuda:N", false);
    expect_offered("waker adapt runs/a --device ", "toy", false);
    expect_offered("waker completion ", "zsh", true);
    expect_offered("waker man t", "top", true);
}

// zsh gets what bash gets, and what lets it read that.
TEST_CASE(the_scripts_are_sound)
{
    program_succeed("--version >/dev/null; bash -n bash.sh");
    program_succeed("--version; ! command -v zsh >/dev/null || zsh -n _waker");
    program_succeed(
        "--version; head -1 _waker | grep -q '^#compdef waker$'; grep -q bashcompinit _waker; "
        "grep -v bash bash.sh | grep -Fvxf _waker >lacking; test ! -s lacking");
}

TEST_CASE(docs_cli_md_is_what_the_program_prints)
{
    char *page;
    wk_error err = {0};
    assert_ok(wk_file_read(WAKER_SOURCE_DIR "/docs/cli.md", 1 << 22, &page, NULL, &err));
    program_result r = program_succeed("man --markdown");
    if (strcmp(page, r.out) != 0) fail_msg("make it anew: waker man --markdown >docs/cli.md");
    free(page);
}

TEST_MAIN(read_all, program_teardown)
