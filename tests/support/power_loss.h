// Power losses, simulated: file calls of code linked into a test are recorded, and directories are
// made as a disk may hold them when the power goes at any of those calls. The linker redirects the
// calls, so a test that includes this asks for it in its .cmake file:
//
//   include(${CMAKE_CURRENT_SOURCE_DIR}/support/power_loss.cmake)
//
// Include it in one file of a test program only, and not beside support/faults.h. While a recording
// is on, nothing is really synced: what a sync promises is what the simulation keeps. Two orders:
//
//   journal  names, sizes and directories change in order and are durable up to the last sync of
//            anything at least; bytes of a file are durable up to its own last sync
//   strict   only what was synced itself is durable: bytes and sizes by a sync of the file, names
//            by one of their directory; of the rest any part may be there and any other not
#ifndef WK_TESTS_POWER_LOSS_H
#define WK_TESTS_POWER_LOSS_H

#include "base/memory.h"
#include "base/random.h"
#include "support/check.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum power_order { POWER_JOURNAL, POWER_STRICT, POWER_ORDERS } power_order;

enum { POWER_NAME = 128, POWER_FDS = 1024, POWER_NONE = -1 };

typedef struct power_entry {
    char name[POWER_NAME];
    int node;
} power_entry;

// A file or a directory; 0 is the directory that was recorded.
typedef struct power_node {
    bool directory;
    WK_ARRAY(power_entry) entries;
    WK_ARRAY(unsigned char) bytes;
} power_node;

typedef struct power_disk {
    WK_ARRAY(power_node) nodes;
} power_disk;

typedef enum power_kind {
    POWER_ADD,
    POWER_MOVE,
    POWER_DROP,
    POWER_SIZE,
    POWER_BYTES,
    POWER_SYNC
} power_kind;

// One call. Names are in directory `dir`; a move goes to `name2` in `dir2`.
typedef struct power_call {
    power_kind kind;
    int node, dir, dir2;
    bool directory;
    char name[POWER_NAME], name2[POWER_NAME];
    size_t offset, size;
    unsigned char *bytes;
} power_call;

/// What was recorded.
typedef struct power_recording {
    bool on;
    power_disk begin, now; // as it was, and as the calls have made it
    WK_ARRAY(power_call) calls;
    int nodes[POWER_FDS]; // of open descriptors
    bool appends[POWER_FDS];
} power_recording;

/// The recording that is on or was last. To keep it, copy it and make it zero.
static power_recording power;

static inline power_node *power_node_at(power_disk *disk, int node)
{
    return &disk->nodes.items[node];
}

static inline int power_new_node(power_disk *disk, bool directory)
{
    assert_true(wk_array_push(&disk->nodes, (power_node){.directory = directory}));
    return (int)disk->nodes.count - 1;
}

static inline int power_find(power_disk *disk, int dir, const char *name)
{
    if (dir == POWER_NONE) return POWER_NONE;
    if (strcmp(name, ".") == 0) return dir;
    power_node *node = power_node_at(disk, dir);
    for (size_t i = 0; i < node->entries.count; i++)
        if (strcmp(node->entries.items[i].name, name) == 0) return node->entries.items[i].node;
    return POWER_NONE;
}

static inline void power_drop(power_disk *disk, int dir, const char *name, int node)
{
    power_node *d = power_node_at(disk, dir);
    for (size_t i = 0; i < d->entries.count; i++)
        if (strcmp(d->entries.items[i].name, name) == 0 && d->entries.items[i].node == node)
            d->entries.items[i--] = d->entries.items[--d->entries.count];
}

static inline void power_add(power_disk *disk, int dir, const char *name, int node)
{
    power_node *d = power_node_at(disk, dir);
    int before = power_find(disk, dir, name);
    if (before != POWER_NONE) power_drop(disk, dir, name, before);
    power_entry entry = {.node = node};
    snprintf(entry.name, sizeof entry.name, "%s", name);
    assert_true(wk_array_push(&d->entries, entry));
}

static inline void power_resize(power_node *node, size_t size)
{
    size_t before = node->bytes.count;
    if (size > before) {
        assert_true(wk_array_reserve(&node->bytes, size - before));
        memset(node->bytes.items + before, 0, size - before);
    }
    node->bytes.count = size;
}

static inline void power_apply(power_disk *disk, const power_call *c, size_t size)
{
    while (disk->nodes.count <= (size_t)c->node)
        power_new_node(disk, false);
    power_node *node = power_node_at(disk, c->node);
    if (c->kind == POWER_ADD) node->directory = c->directory;
    if (c->kind == POWER_ADD) power_add(disk, c->dir, c->name, c->node);
    if (c->kind == POWER_DROP) power_drop(disk, c->dir, c->name, c->node);
    if (c->kind == POWER_MOVE) power_drop(disk, c->dir, c->name, c->node);
    if (c->kind == POWER_MOVE) power_add(disk, c->dir2, c->name2, c->node);
    if (c->kind == POWER_SIZE) power_resize(node, c->size);
    if (c->kind != POWER_BYTES || size == 0) return;
    if (node->bytes.count < c->offset + size) power_resize(node, c->offset + size);
    memcpy(node->bytes.items + c->offset, c->bytes, size);
}

static inline void power_record(power_call call)
{
    if (call.kind != POWER_SYNC) power_apply(&power.now, &call, call.size);
    assert_true(wk_array_push(&power.calls, call));
}

static inline void power_disk_free(power_disk *disk)
{
    for (size_t i = 0; i < disk->nodes.count; i++) {
        wk_array_free(&disk->nodes.items[i].entries);
        wk_array_free(&disk->nodes.items[i].bytes);
    }
    wk_array_free(&disk->nodes);
}

static inline void power_copy(const power_disk *from, power_disk *to)
{
    for (size_t i = 0; i < from->nodes.count; i++) {
        const power_node *node = &from->nodes.items[i];
        power_node *copy = power_node_at(to, power_new_node(to, node->directory));
        for (size_t k = 0; k < node->entries.count; k++)
            assert_true(wk_array_push(&copy->entries, node->entries.items[k]));
        power_resize(copy, node->bytes.count);
        if (node->bytes.count > 0) memcpy(copy->bytes.items, node->bytes.items, node->bytes.count);
    }
}

// Reads what is in a directory now.
static inline void power_load(power_disk *disk, int at, const char *path)
{
    DIR *stream = opendir(path);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));) {
        char inner[1024];
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        assert_true(snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < 1024);
        assert_int_equal(lstat(inner, &info), 0);
        int node = power_new_node(disk, S_ISDIR(info.st_mode));
        power_add(disk, at, entry->d_name, node);
        if (S_ISDIR(info.st_mode)) {
            power_load(disk, node, inner);
            continue;
        }
        FILE *file = fopen(inner, "rb");
        assert_non_null(file);
        power_resize(power_node_at(disk, node), (size_t)info.st_size);
        size_t size = (size_t)info.st_size;
        if (size > 0)
            assert_int_equal(fread(power_node_at(disk, node)->bytes.items, 1, size, file), size);
        fclose(file);
    }
    closedir(stream);
}

static inline void power_save(power_disk *disk, int at, const char *path)
{
    assert_int_equal(mkdir(path, 0777), 0);
    power_node *dir = power_node_at(disk, at);
    for (size_t i = 0; i < dir->entries.count; i++) {
        char inner[1024];
        power_node *node = power_node_at(disk, dir->entries.items[i].node);
        const char *name = dir->entries.items[i].name;
        assert_true(snprintf(inner, sizeof inner, "%s/%s", path, name) < 1024);
        if (node->directory) {
            power_save(disk, dir->entries.items[i].node, inner);
            continue;
        }
        FILE *file = fopen(inner, "wb");
        assert_non_null(file);
        if (node->bytes.count > 0) fwrite(node->bytes.items, 1, node->bytes.count, file);
        assert_int_equal(fclose(file), 0);
    }
}

static inline void power_forget(void)
{
    for (size_t i = 0; i < power.calls.count; i++)
        free(power.calls.items[i].bytes);
    wk_array_free(&power.calls);
    power_disk_free(&power.begin);
    power_disk_free(&power.now);
}

/// Records what happens in the working directory from now on; all that is there is durable.
static inline void power_begin(void)
{
    power_forget();
    power_new_node(&power.begin, true);
    power_load(&power.begin, 0, ".");
    power_copy(&power.begin, &power.now);
    for (int i = 0; i < POWER_FDS; i++)
        power.nodes[i] = POWER_NONE;
    power.on = true;
}

static inline void power_end(void)
{
    power.on = false;
}

// Whether a change was synced before call `at`.
static inline bool power_synced(size_t call, size_t at)
{
    const power_call *c = &power.calls.items[call];
    bool name = c->kind <= POWER_DROP;
    int node = !name ? c->node : c->kind == POWER_MOVE ? c->dir2 : c->dir;
    for (size_t i = call + 1; i < at; i++)
        if (power.calls.items[i].kind == POWER_SYNC && power.calls.items[i].node == node)
            return true;
    return false;
}

// Calls up to which the journal is on the disk: the last sync of anything, or later.
static inline size_t power_journal(size_t at, wk_rng *rng)
{
    size_t last = 0;
    for (size_t i = 0; i < at; i++)
        if (power.calls.items[i].kind == POWER_SYNC) last = i + 1;
    return last + (size_t)(wk_rng_uniform(rng, 0, 1) * (double)(at - last + 1));
}

/// Makes `path` as the disk may be when the power goes at call `at`. What is not durable is there
/// with probability `luck`; a write may be torn.
static inline void power_cut(size_t at, power_order order, double luck, wk_rng *rng,
                             const char *path)
{
    power_disk disk = {0};
    power_copy(&power.begin, &disk);
    size_t journal = power_journal(at, rng);
    for (size_t i = 0; i < at; i++) {
        const power_call *c = &power.calls.items[i];
        if (c->kind == POWER_SYNC) continue;
        bool lucky = wk_rng_uniform(rng, 0, 1) < luck;
        bool in_journal = order == POWER_JOURNAL && c->kind != POWER_BYTES;
        bool there = in_journal ? i < journal : lucky || power_synced(i, at);
        if (!there && c->kind != POWER_BYTES) continue;
        size_t torn = (size_t)(wk_rng_uniform(rng, 0, 1) * (double)c->size * luck);
        power_apply(&disk, c, there ? c->size : torn);
    }
    power_save(&disk, 0, path);
    power_disk_free(&disk);
}

// The node of a directory's descriptor, and of a path that begins there; *last is its last name.
static inline int power_dir_of(int fd)
{
    if (fd == AT_FDCWD) return 0;
    return fd >= 0 && fd < POWER_FDS ? power.nodes[fd] : POWER_NONE;
}

static inline int power_parent(int fd, const char *path, char last[POWER_NAME])
{
    int dir = *path == '/' ? POWER_NONE : power_dir_of(fd);
    for (;;) {
        size_t length = strcspn(path, "/");
        assert_true(length < POWER_NAME);
        snprintf(last, POWER_NAME, "%.*s", (int)length, path);
        path += length + strspn(path + length, "/");
        if (!*path) return dir;
        dir = power_find(&power.now, dir, last);
        if (dir == POWER_NONE) return dir;
    }
}

static inline void power_note_open(int result, int dirfd, const char *path, int flags)
{
    char name[POWER_NAME];
    if (!power.on || result < 0) return;
    assert_true(result < POWER_FDS);
    int dir = power_parent(dirfd, path, name), node = power_find(&power.now, dir, name);
    if (dir != POWER_NONE && node == POWER_NONE && (flags & O_CREAT)) {
        node = (int)power.now.nodes.count;
        power_call add = {.kind = POWER_ADD, .node = node, .dir = dir};
        snprintf(add.name, sizeof add.name, "%s", name);
        power_record(add);
    } else if (node != POWER_NONE && (flags & O_TRUNC)) {
        power_record((power_call){.kind = POWER_SIZE, .node = node});
    }
    power.nodes[result] = node;
    power.appends[result] = flags & O_APPEND;
}

static inline void power_note_name(power_kind kind, int dirfd, const char *path, bool directory)
{
    power_call call = {.kind = kind, .directory = directory};
    if (!power.on) return;
    call.dir = power_parent(dirfd, path, call.name);
    if (call.dir == POWER_NONE) return;
    call.node = kind == POWER_ADD ? (int)power.now.nodes.count
                                  : power_find(&power.now, call.dir, call.name);
    if (call.node != POWER_NONE) power_record(call);
}

static inline void power_note_move(int from, const char *old, int to, const char *path)
{
    power_call call = {.kind = POWER_MOVE};
    if (!power.on) return;
    call.dir = power_parent(from, old, call.name);
    call.dir2 = power_parent(to, path, call.name2);
    if (call.dir == POWER_NONE || call.dir2 == POWER_NONE) return;
    call.node = power_find(&power.now, call.dir, call.name);
    if (call.node != POWER_NONE) power_record(call);
}

static inline void power_note_write(int fd, off_t offset, const void *bytes, ssize_t size)
{
    if (!power.on || size <= 0 || fd >= POWER_FDS || power.nodes[fd] == POWER_NONE) return;
    int node = power.nodes[fd];
    size_t end = power_node_at(&power.now, node)->bytes.count;
    power_call call = {.kind = POWER_BYTES, .node = node, .size = (size_t)size};
    call.offset = power.appends[fd] ? end : (size_t)offset;
    call.bytes = malloc(call.size);
    assert_non_null(call.bytes);
    memcpy(call.bytes, bytes, call.size);
    power_record(call);
}

#define POWER_WRAP(result, name, parameters)                                                       \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters

POWER_WRAP(int, open, (const char *path, int flags, ...))
{
    int fd = __real_open(path, flags, 0666);
    power_note_open(fd, AT_FDCWD, path, flags);
    return fd;
}
POWER_WRAP(int, openat, (int dir, const char *path, int flags, ...))
{
    int fd = __real_openat(dir, path, flags, 0666);
    power_note_open(fd, dir, path, flags);
    return fd;
}
POWER_WRAP(int, close, (int fd))
{
    if (power.on && fd >= 0 && fd < POWER_FDS) power.nodes[fd] = POWER_NONE;
    return __real_close(fd);
}
POWER_WRAP(ssize_t, write, (int fd, const void *bytes, size_t size))
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = __real_write(fd, bytes, size);
    power_note_write(fd, at, bytes, done);
    return done;
}
POWER_WRAP(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t offset))
{
    ssize_t done = __real_pwrite(fd, bytes, size, offset);
    power_note_write(fd, offset, bytes, done);
    return done;
}
POWER_WRAP(int, ftruncate, (int fd, off_t size))
{
    int result = __real_ftruncate(fd, size);
    if (power.on && result == 0 && power.nodes[fd] != POWER_NONE)
        power_record(
            (power_call){.kind = POWER_SIZE, .node = power.nodes[fd], .size = (size_t)size});
    return result;
}
POWER_WRAP(int, fsync, (int fd))
{
    if (!power.on) return __real_fsync(fd);
    if (fd < POWER_FDS && power.nodes[fd] != POWER_NONE)
        power_record((power_call){.kind = POWER_SYNC, .node = power.nodes[fd]});
    return 0;
}
POWER_WRAP(int, mkdir, (const char *path, mode_t mode))
{
    int result = __real_mkdir(path, mode);
    if (result == 0) power_note_name(POWER_ADD, AT_FDCWD, path, true);
    return result;
}
POWER_WRAP(int, mkdirat, (int dir, const char *path, mode_t mode))
{
    int result = __real_mkdirat(dir, path, mode);
    if (result == 0) power_note_name(POWER_ADD, dir, path, true);
    return result;
}
POWER_WRAP(int, unlink, (const char *path))
{
    int result = __real_unlink(path);
    if (result == 0) power_note_name(POWER_DROP, AT_FDCWD, path, false);
    return result;
}
POWER_WRAP(int, unlinkat, (int dir, const char *path, int flags))
{
    int result = __real_unlinkat(dir, path, flags);
    if (result == 0) power_note_name(POWER_DROP, dir, path, flags & AT_REMOVEDIR);
    return result;
}
POWER_WRAP(int, rmdir, (const char *path))
{
    int result = __real_rmdir(path);
    if (result == 0) power_note_name(POWER_DROP, AT_FDCWD, path, true);
    return result;
}
POWER_WRAP(int, rename, (const char *old, const char *path))
{
    int result = __real_rename(old, path);
    if (result == 0) power_note_move(AT_FDCWD, old, AT_FDCWD, path);
    return result;
}
POWER_WRAP(int, renameat, (int from, const char *old, int to, const char *path))
{
    int result = __real_renameat(from, old, to, path);
    if (result == 0) power_note_move(from, old, to, path);
    return result;
}

#endif
