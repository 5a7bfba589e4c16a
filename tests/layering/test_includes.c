// The folders of src/ form layers. This test reads every #include line and fails on an edge that
// the table below (the one of docs/architecture.md) does not have, so that the page stays true.
#include "base/file.h"
#include "support/check.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

// A folder may include itself, `below` it, the public API, libc, and the outside headers named.
typedef struct layer {
    const char *folder;
    const char *below;   // separated by spaces
    const char *outside; // prefixes of headers that are neither ours nor libc's
} layer;

#define CUDA_PARTS                                                                                 \
    "tensor/cuda tensor/cuda/runtime tensor/cuda/passes tensor/cuda/kernels tensor/cuda/hopper "   \
    "tensor base"

static const layer layers[] = {
    {"base", "", "zlib.h sys/ linux/"},
    {"media", "base", "zlib.h spawn.h sys/"},
    {"plot", "media base", ""},
    {"tensor", "base", ""},
    {"tensor/cpu", "tensor base", "cblas.h dnnl immintrin.h"},
    {"tensor/cuda", "tensor base", ""},
    {"tensor/cuda/runtime", CUDA_PARTS, "cuda cublas cudnn"},
    {"tensor/cuda/passes", "tensor base", ""},
    {"tensor/cuda/kernels", CUDA_PARTS, "cuda cublas cudnn"},
    {"tensor/cuda/hopper", CUDA_PARTS, "cuda cublas cudnn"},
    {"nn", "tensor base", ""},
    {"model", "nn tensor base", ""},
    {"agent", "model nn tensor base", ""},
    {"env", "base", "zlib.h"},
    {"env/mujoco", "env base", "mujoco/"},
    {"env/domains", "env env/mujoco env/render base", "mujoco/ GL/"},
    {"env/plugins", "env base", "zlib.h spawn.h sys/"},
    {"env/render", "base", "mujoco/ immintrin.h"},
    {"replay", "base", "zlib.h lz4 zstd sys/"},
    {"curriculum", "base", "cblas.h f77blas.h"},
    {"stats", "base", ""},
    {"theory", "base", ""},
    {"config", "agent model nn tensor curriculum replay base", "yaml.h regex.h"},
    {"log", "media base", "sys/"},
    {"run", "log config tensor/cuda agent model nn tensor env env/plugins replay curriculum base",
     "sys/"},
    {"train",
     "run log config eval agent model nn tensor "
     "env env/plugins replay curriculum plot media base",
     "sys/"},
    {"eval", "run log config agent model nn tensor env env/domains replay stats media base", ""},
    {"report", "plot run log config curriculum eval agent env stats media base", "sys/"},
    {"api", "train run report log agent base", ""},
    {"sweep",
     "run log config tensor/cuda agent env replay "
     "base",
     "poll.h sys/"},
    {"cli",
     "sweep train run log config eval report plot "
     "tensor/cuda agent model nn tensor env env/domains env/mujoco env/plugins replay curriculum "
     "theory media base",
     "spawn.h sys/ mujoco/ zlib.h"},
};

static const char *const libc_headers =
    " assert.h complex.h ctype.h dirent.h dlfcn.h elf.h errno.h "
    "fcntl.h fenv.h float.h inttypes.h limits.h malloc.h math.h"
    " pthread.h sched.h setjmp.h signal.h stdalign.h stdarg.h "
    "stdatomic.h stdbool.h stddef.h stdint.h locale.h"
    " stdio.h stdlib.h stdnoreturn.h string.h strings.h time.h "
    "unistd.h wchar.h getopt.h link.h gnu/libc-version.h ";

static int faults, files;

static bool listed(const char *list, const char *word, bool prefix)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", list);
    for (char *item = strtok(copy, " "); item; item = strtok(NULL, " "))
        if (prefix ? strncmp(word, item, strlen(item)) == 0 : strcmp(word, item) == 0) return true;
    return false;
}

static const layer *layer_of(const char *folder)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strcmp(layers[i].folder, folder) == 0) return &layers[i];
    return NULL;
}

static void check_line(const layer *from, const char *path, const char *line)
{
    char quote, header[256];
    if (sscanf(line, " # include %c%255[^\">]", &quote, header) != 2) return;
    if (strncmp(header, "waker/", 6) == 0) return;
    if (quote == '<') {
        char spaced[260];
        snprintf(spaced, sizeof spaced, " %s ", header);
        if (strstr(libc_headers, spaced) || listed(from->outside, header, true)) return;
    } else {
        char folder[256];
        snprintf(folder, sizeof folder, "%s", header);
        char *slash = strrchr(folder, '/');
        if (slash) *slash = 0;
        if (slash && (strcmp(folder, from->folder) == 0 || listed(from->below, folder, false)))
            return;
    }
    print_error("%s includes %s: not allowed for src/%s\n", path, header, from->folder);
    faults++;
}

static void check_file(const layer *from, const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char line[1024];
    while (fgets(line, sizeof line, file))
        check_line(from, path, line);
    fclose(file);
    files++;
}

static void check_folder(const char *folder)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/src/%s", WAKER_SOURCE_DIR, folder);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        char inner[512], full[2048];
        snprintf(inner, sizeof inner, "%s%s%s", folder, *folder ? "/" : "", entry->d_name);
        snprintf(full, sizeof full, "%s/src/%s", WAKER_SOURCE_DIR, inner);
        struct stat info;
        assert_int_equal(stat(full, &info), 0);
        if (S_ISDIR(info.st_mode)) {
            check_folder(inner);
            continue;
        }
        const layer *from = layer_of(folder);
        if (!from) fail_msg("src/%s is not in the table of layers", folder);
        check_file(from, full);
    }
    closedir(directory);
}

TEST_CASE(every_include_follows_the_table)
{
    check_folder("");
    assert_true(files > 20);
    assert_int_equal(faults, 0);
}

TEST_CASE(a_forbidden_edge_is_noticed)
{
    faults = 0;
    check_line(layer_of("base"), "(probe)", "#include \"env/env.h\"\n");
    check_line(layer_of("replay"), "(probe)", "#include <mujoco/mujoco.h>\n");
    assert_int_equal(faults, 2);
    check_line(layer_of("model"), "(probe)", "#include \"nn/dense.h\"\n");
    assert_int_equal(faults, 2);
    faults = 0;
}

// The last cell of a folder's row in docs/architecture.md; false where it has none.
static bool find_cell(const char *page, const char *folder, char *cell, size_t size)
{
    char start[128];
    snprintf(start, sizeof start, "\n| `src/%s/` |", folder);
    const char *row = strstr(page, start);
    if (!row) return false;
    const char *end = strchr(row + 1, '\n'), *bar = end - 2;
    while (bar[-1] != '|')
        bar--;
    snprintf(cell, size, "%.*s", (int)(end - 1 - bar), bar);
    return true;
}

// Folders of the cell, separated by spaces; what begins with a capital is a library.
static void folders_of(const char *cell, char *out, size_t size)
{
    char copy[512];
    size_t used = 0;
    *out = 0;
    snprintf(copy, sizeof copy, "%s", cell);
    for (char *item = strtok(copy, ","); item; item = strtok(NULL, ",")) {
        item += strspn(item, " ");
        item[strcspn(item, " ")] = 0;
        if (*item && !(*item >= 'A' && *item <= 'Z'))
            used += (size_t)snprintf(out + used, size - used, "%s ", item);
    }
}

static void expect_listed(const char *folder, const char *words, const char *list, const char *why)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", words);
    for (char *rest = copy, *word; (word = strtok_r(rest, " ", &rest));)
        if (!listed(list, word, false)) {
            print_error("docs/architecture.md, src/%s: %s %s\n", folder, word, why);
            faults++;
        }
}

TEST_CASE(the_page_has_the_table)
{
    char *page, cell[512], folders[512];
    int rows = 0;
    wk_error err = {0};
    assert_ok(wk_file_read(WAKER_SOURCE_DIR "/docs/architecture.md", 1 << 20, &page, NULL, &err));
    faults = 0;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const layer *l = &layers[i];
        if (!find_cell(page, l->folder, cell, sizeof cell) || !*l->below) continue;
        if (strstr(cell, "everything")) continue;
        folders_of(cell, folders, sizeof folders);
        expect_listed(l->folder, l->below, folders, "is allowed and not in the row");
        expect_listed(l->folder, folders, l->below, "is in the row and not allowed");
        rows++;
    }
    free(page);
    assert_true(rows > 20);
    assert_int_equal(faults, 0);
}

TEST_MAIN(NULL, NULL)
