// What README, docs and examples show and name: files must be there and every option of a command
// must exist. Commands in code blocks are run, in the order of their page, with what `reductions`
// makes cheap. What cannot run here is in `not_run`, with the reason, and an entry there that no
// page shows is an error.
#include "base/file.h"
#include "config/config.h"
#include "support/check.h"
#include "support/program.h"
#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *text, *why;
} not_run[] = {
    {"waker bench update --preset paper --device cuda --tasks 5", "a GPU"},
    {"waker bench update --preset paper --batch 1024 --tasks 5 --precision f32 --device cuda",
     "a GPU; shows a refusal"},
    {"waker sweep paper-main --logdir runs/paper --launch slurm --partition gpu --time 12:00:00 "
     "--cpus 8 --mem 16G",
     "Slurm"},
    {"waker sweep --logdir runs/paper --launch slurm", "Slurm"},
    {"waker sweep status runs/paper", "the sweep of the lines above"},
    {"waker sweep cancel runs/paper", "the same"},
    {"waker eval runs/a --set robust-v1", "2,000 episodes; cli/benchmark tests it"},
    {"waker eval runs/a --set own.set --task west", "the same"},
    {"waker eval b/dr --set robust-v1 --task west", "the same"},
    {"waker train --logdir runs/mine --configs quick --python my_package.envs:make_env",
     "a package of the reader's; cli/python tests it"},
    {"waker eval runs/mine --python my_package.envs:make_env", "the same"},
    {"waker train --logdir runs/room --configs quick --tasks all --python "
     "examples/python/minigrid_env.py:make_env",
     "MiniGrid; tests/python tests it"},
    {"waker report /tmp/runs --out /tmp/report", "283 MB of runs that the line before makes"},
};

// Words in backquotes that only look like a command.
static const char *const no_commands[] = {"waker to JAX"};

#define TINY                                                                                       \
    " --steps 1010 --prefill 1000 --env.count 2 --env.threads 1 --train_every 5"                   \
    " --replay.capacity 4000 --encoder.depth 1 --rssm.deter 4 --rssm.hidden 4 --rssm.stoch 2"      \
    " --rssm.classes 2 --units 4 --layers 1 --ensemble.size 2 --batch 2 --length 6 --horizon 2"    \
    " --log.every 500 --log.images_every 0 --snapshot.every 0 --eval.every 0 --minutes 0"          \
    " --replay.memory_limit 0 --device cpu --precision auto --quiet"

// What is put behind a command to make it cheap: the last value of an option counts.
static const struct {
    const char *command, *unless, *options; // not where the command has `unless`
} reductions[] = {
    {"train", "", TINY},
    {"adapt", "", " --updates 2 --snapshot last --restart --device cpu"},
    {"finetune", "", " --steps 10 --snapshot last --device cpu"},
    {"eval", "", " --envs 1 --device cpu"},
    {"eval", "--cases dr", " --cases dr"}, // instead of all: cli/eval runs those
    {"openloop", "", " --steps 8 --device cpu"},
    {"model-error", "", " --envs 2 --steps 10 --device cpu"},
    {"bench env", "", " --domain toy --seconds 0.01"},
    {"bench update", "", " --iters 1 --device cpu"},
    {"report", "", " --reps 20"},
    {"sweep", "", " --rate 100"},
    {"theory", "", " --instances 2000 --seeds 2 --episodes 60 --rewards 2 --members 3"},
};

// Runs that a page has from elsewhere, as one of the three that are made at the beginning.
static const struct {
    const char *page, *run, *made;
} runs_of_pages[] = {
    {"docs/training.md", "toy", "toy"},
    {"docs/evaluation.md", "a", "walker"},
    {"docs/evaluation.md", "toy", "toy"},
    {"docs/evaluation.md", "dr", "clean-up"},
    {"docs/evaluation.md", "waker-m", "clean-up"},
    {"docs/report.md", "a", "toy"},
    {"docs/plugins.md", "a", "walker"},
    {"examples/reward/README.md", "a", "walker"},
    {"docs/training.md", "b", "clean-up"},
};

// A command as a page shows it, on one line, from "waker" on.
typedef struct shown {
    char page[64], text[1024];
    int line;
    bool block; // in a code block, not within a sentence
} shown;

static WK_ARRAY(shown) commands;
static bool seen[sizeof not_run / sizeof *not_run];
static int faults;

static void add(const char *page, int line, bool block, const char *text, size_t length)
{
    shown s = {.line = line, .block = block};
    snprintf(s.page, sizeof s.page, "%s", page);
    snprintf(s.text, sizeof s.text, "%.*s", (int)length, text);
    assert_true(length < sizeof s.text);
    assert_true(wk_array_push(&commands, s));
}

// "$ ", "time ", "build/" and "source <(" before a command are the reader's.
static const char *skip_before(const char *at)
{
    static const char *const before[] = {"$ ", "time ", "source <(", "build/", "build-cuda/"};
    at += strspn(at, " ");
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(at, before[i], strlen(before[i])) == 0) at += strlen(before[i]);
    return at;
}

// Where the command ends: at a comment, a pipe, the end of <( ).
static size_t command_length(const char *text)
{
    static const char *const ends[] = {" #", " | ", ")"};
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(text, ends[i]);
        const char *bracket = strchr(text, '['); // "[--yaml | --json]" is a choice
        bool choice = end && i == 1 && bracket && bracket < end;
        if (end && !choice && (size_t)(end - text) < length) length = (size_t)(end - text);
    }
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return length;
}

// What a command printed begins with its name too: "waker eval: ...", "waker 0.1.0".
static bool is_output(const char *text)
{
    const char *colon = strstr(text, ": "), *option = strstr(text, " --");
    return (colon && (!option || colon < option)) || isdigit((unsigned char)text[6]);
}

static void add_block_line(const char *page, int line, const char *text)
{
    const char *command = skip_before(text);
    if (strncmp(command, "waker ", 6) != 0 || is_output(command)) return;
    // That page is the help of all commands: its examples are of runs that there are not.
    bool runs = strcmp(page, "docs/cli.md") != 0;
    add(page, line, runs, command, command_length(command));
}

static bool is_no_command(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof no_commands / sizeof *no_commands; i++)
        if (strncmp(text, no_commands[i], length) == 0) return true;
    return false;
}

static void add_quoted(const char *page, int line, const char *prose)
{
    for (const char *at = prose; (at = strchr(at, '`')); at++) {
        const char *command = skip_before(at + 1);
        size_t length = strcspn(command, "`");
        bool opens = at[1] != ' ' && strncmp(command, "waker ", 6) == 0;
        if (opens && !is_no_command(command, length)) add(page, line, false, command, length);
    }
}

// Code blocks are indented by four blanks; sentences run over lines.
static void read_page(const char *page)
{
    char path[400], *bytes, prose[16384] = "", block[2048] = "";
    size_t size;
    wk_error err = {0};
    int line = 1, prose_line = 1;
    snprintf(path, sizeof path, WAKER_SOURCE_DIR "/%s", page);
    assert_ok(wk_file_read(path, 1 << 22, &bytes, &size, &err));
    for (char *rest = bytes, *text; (text = strsep(&rest, "\n")); line++) {
        size_t length = strlen(text);
        bool indented = strncmp(text, "    ", 4) == 0, goes_on = length && text[length - 1] == '\\';
        if (indented || *block) {
            strncat(block, text, sizeof block - strlen(block) - 1);
            if (goes_on) {
                block[strlen(block) - 1] = 0;
                continue;
            }
            add_block_line(page, line, block);
            *block = 0;
        } else if (length) {
            if (!*prose) prose_line = line;
            strncat(prose, text, sizeof prose - strlen(prose) - 2);
            strcat(prose, " ");
            continue;
        }
        add_quoted(page, prose_line, prose);
        *prose = 0;
    }
    add_quoted(page, prose_line, prose);
    free(bytes);
}

static void make_runs(void)
{
    static const struct {
        const char *name, *configs;
    } made[] = {{"clean-up", "clean-up"}, {"walker", "terrain-walker"}, {"toy", "toy"}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        program_succeed("train --logdir .made/%s --configs %s --tasks all" TINY, made[i].name,
                        made[i].configs);
        program_succeed("adapt .made/%s --task all --updates 2 --quiet", made[i].name);
    }
    program_succeed("eval .made/toy --envs 1 --cases dr --quiet");
}

static glob_t pages;

static int read_pages(void **state)
{
    static const char *const places[] = {"README.md", "docs/*.md", "examples/*.md",
                                         "examples/*/*.md"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char pattern[400];
        snprintf(pattern, sizeof pattern, WAKER_SOURCE_DIR "/%s", places[i]);
        assert_int_equal(glob(pattern, i ? GLOB_APPEND : 0, NULL, &pages), 0);
    }
    for (size_t i = 0; i < pages.gl_pathc; i++)
        read_page(pages.gl_pathv[i] + strlen(WAKER_SOURCE_DIR) + 1);
    if (program_setup(state) != 0) return -1;
    make_runs();
    return 0;
}

static int free_pages(void **state)
{
    wk_array_free(&commands);
    globfree(&pages);
    return program_teardown(state);
}

// "bench env" of "waker bench env --domain all"; commands have one word or two.
static void name_of(const shown *s, char name[32])
{
    static const char *const first[] = {"bench ",    "envs check", "envs set",    "sweep status",
                                        "sweep add", "sweep run",  "sweep retry", "sweep cancel"};
    const char *word = s->text + strlen("waker ");
    int length = (int)strcspn(word, " ");
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (strncmp(word, first[i], strlen(first[i])) == 0)
            length = (int)(strcspn(word, " ") + 1 + strcspn(word + strcspn(word, " ") + 1, " "));
    snprintf(name, 32, "%.*s", length, word);
}

// The help of a command has a line that begins with the option.
static bool help_has(const char *help, const char *option, size_t length)
{
    char line[64];
    snprintf(line, sizeof line, "\n  %.*s", (int)length, option);
    for (const char *at = help; (at = strstr(at, line)); at++)
        if (!isalnum((unsigned char)at[strlen(line)]) && at[strlen(line)] != '-') return true;
    return false;
}

static void expect(const shown *s, program_result result)
{
    if (result.code == 0) return;
    print_error("%s:%d shows '%s', which ends with %d: %s\n", s->page, s->line, s->text,
                result.code, result.err);
    faults++;
}

static void check_options(const shown *s, const char *name, const char *help)
{
    bool takes_keys = help_has(help, "--KEY", 5);
    for (const char *at = s->text; (at = strstr(at, "--")); at++) {
        size_t length = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz0123456789._-");
        if (at[-1] != ' ' && at[-1] != '[') continue;
        if (strncmp(at, "--KEY", 5) == 0 && takes_keys) continue;
        if (help_has(help, at, length)) continue;
        if (takes_keys && wk_run_field_find(at + 2, length - 2) >= 0) continue;
        print_error("%s:%d shows '%s', but 'waker %s' has no option %.*s\n", s->page, s->line,
                    s->text, name, (int)length, at);
        faults++;
    }
}

TEST_CASE(every_command_and_option_that_is_shown_exists)
{
    assert_true(commands.count > 100); // they were found
    faults = 0;
    for (size_t i = 0; i < commands.count; i++) {
        const shown *s = &commands.items[i];
        char name[32];
        name_of(s, name);
        // "waker COMMAND --help" and "waker --help" are of all.
        if (!islower((unsigned char)*name) || strcmp(name, "help") == 0) continue;
        program_result help = program_run("%s --help", name);
        expect(s, help);
        if (help.code == 0) check_options(s, name, help.out);
    }
    assert_int_equal(faults, 0);
}

// Words in capitals, "..." and choices stand for something else; "…" stands for the options of the
// line before, and where it is not the end the command is none without them.
static bool is_synopsis(const char *text)
{
    if (strstr(text, "...") || strstr(text, "… --") || strstr(text, "|")) return true;
    for (const char *word = text; word; word = strchr(word, ' ')) {
        word += strspn(word, " [");
        size_t capitals = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (capitals > 0 && (!word[capitals] || strchr(" ]", word[capitals]))) return true;
    }
    return false;
}

static bool is_excepted(const char *text)
{
    bool excepted = false;
    for (size_t i = 0; i < sizeof not_run / sizeof *not_run; i++)
        if (strcmp(text, not_run[i].text) == 0) excepted = seen[i] = true;
    return excepted;
}

// An empty directory with the plug-ins of the examples, the data of the docs and the runs that the
// page has.
static void prepare(const char *page)
{
    wk_text before = {0};
    wk_text_puts(&before,
                 "rm -rf *; cp " WAKER_BINARY_DIR "/tests/plugins/ball.so " WAKER_BINARY_DIR
                 "/tests/plugins/even.so " WAKER_BINARY_DIR
                 "/tests/plugins/walk_at.so " WAKER_BINARY_DIR
                 "/tests/plugins/north.so .; mkdir runs docs; ln -s " WAKER_SOURCE_DIR
                 "/docs/data docs/data;");
    for (size_t i = 0; i < sizeof runs_of_pages / sizeof *runs_of_pages; i++)
        if (strcmp(runs_of_pages[i].page, page) == 0)
            wk_text_printf(&before, " cp -r .made/%s runs/%s;", runs_of_pages[i].made,
                           runs_of_pages[i].run);
    program_expect_success(program_run_after(wk_text_get(&before), "--version"));
    wk_text_free(&before);
}

// Optional parts are taken: "[--tasks all]".
static void take_optional(char *text)
{
    char *to = text, *more = strstr(text, "…");
    if (more) *more = 0;
    for (const char *from = text; *from; from++)
        if (*from != '[' && *from != ']') *to++ = *from;
    *to = 0;
}

static void run(const shown *s)
{
    char name[32], text[4096];
    name_of(s, name);
    snprintf(text, sizeof text, "%s", s->text + strlen("waker "));
    take_optional(text);
    // As it stands, without running: keys, blocks and whether they fit together.
    if (strcmp(name, "train") == 0) {
        char logdir[64];
        const char *options = strstr(text, "--logdir ");
        assert_int_equal(sscanf(options, "--logdir %63s", logdir), 1);
        const char *rest = strchr(options + strlen("--logdir "), ' ');
        const char *each = rest ? strstr(rest, " --each ") : NULL; // last, and of train alone
        expect(s, program_run("config %.*s", each ? (int)(each - rest) : 1024, rest ? rest : ""));
    }
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        bool keep = *reductions[i].unless && strstr(text, reductions[i].unless);
        if (strcmp(reductions[i].command, name) == 0 && !keep)
            strncat(text, reductions[i].options, sizeof text - strlen(text) - 1);
    }
    // A step that the small run does not have.
    const char *snapshot = strstr(text, "--snapshot ");
    if (snapshot && isdigit((unsigned char)snapshot[11]))
        strncat(text, " --snapshot last", sizeof text - strlen(text) - 1);
    expect(s, program_run_after("export XDG_CONFIG_HOME=$PWD/.config;", text));
}

TEST_CASE(every_command_of_a_code_block_runs)
{
    faults = 0;
    const char *page = "";
    for (size_t i = 0; i < commands.count; i++) {
        const shown *s = &commands.items[i];
        if (!s->block || is_synopsis(s->text) || is_excepted(s->text)) continue;
        if (strcmp(s->page, page) != 0) prepare(page = s->page);
        run(s);
    }
    for (size_t i = 0; i < sizeof not_run / sizeof *not_run; i++)
        if (!seen[i])
            fail_msg("no page shows '%s' any more; take it out of not_run", not_run[i].text);
    assert_int_equal(faults, 0);
}

static bool matches(const char *format, const char *name, int length)
{
    char pattern[512];
    glob_t found;
    snprintf(pattern, sizeof pattern, format, length, name);
    bool any = glob(pattern, GLOB_BRACE, NULL, &found) == 0;
    if (any) globfree(&found);
    return any;
}

// A file of the tree, a program of bench/, or a test by its name in CTest: tools/slurm.
static bool is_there(const char *name, int length)
{
    const char *slash = memchr(name, '/', (size_t)length);
    char test[256];
    snprintf(test, sizeof test, "%.*s/test_%.*s", (int)(slash - name), name,
             (int)(name + length - slash - 1), slash + 1);
    return matches(WAKER_SOURCE_DIR "/%.*s", name, length) ||
           matches(WAKER_SOURCE_DIR "/%.*s.c*", name, length) ||
           matches(WAKER_SOURCE_DIR "/tests/%.*s.c*", test, (int)strlen(test));
}

static void check_files(const char *page, const char *text)
{
    static const char *const folders[] = {"src/",     "tools/",    "bench/",
                                          "tests/",   "configs/",  "examples/",
                                          "include/", "assets/mj", "cmake/"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
                                  "./*{},-";
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++)
        for (const char *at = text; (at = strstr(at, folders[f])); at++) {
            int length = (int)strspn(at, letters);
            while (strchr(".,-", at[length - 1]))
                length--;
            // Part of another path or word, or a name with a word in capitals for a part of it.
            if ((at > text && strchr(letters, at[-1])) || strspn(at, letters) > 200) continue;
            if (memmem(at, (size_t)length, "TARGET", 6) || is_there(at, length)) continue;
            print_error("%s names %.*s, which is not there\n", page, length, at);
            faults++;
        }
}

TEST_CASE(every_file_that_is_named_is_there)
{
    faults = 0;
    for (size_t i = 0; i < pages.gl_pathc; i++) {
        char *bytes;
        wk_error err = {0};
        assert_ok(wk_file_read(pages.gl_pathv[i], 1 << 22, &bytes, NULL, &err));
        check_files(pages.gl_pathv[i] + strlen(WAKER_SOURCE_DIR) + 1, bytes);
        free(bytes);
    }
    assert_int_equal(faults, 0);
}

TEST_MAIN(read_pages, free_pages)
