// Result files that are there already. A new result is added to a file of the same protocol (same
// head: run, step, policy, numbers of environments, seed); what it measured anew replaces the old,
// the rest is carried over byte by byte. A file of another protocol is never touched: the result
// gets a file of its own, named by its protocol.
#ifndef WK_EVAL_RESULT_MERGE_H
#define WK_EVAL_RESULT_MERGE_H

#include "base/arena.h"
#include "base/array.h"
#include "base/dir.h"
#include "base/document.h"
#include "base/text.h"

enum { WK_RESULT_NAME_MAX = 256 };

/// A part of an earlier file: a case of a task, or a measure under a policy with some weights.
typedef struct wk_earlier_result_part {
    const char *of, *name;
    const char *json;
    size_t length;
} wk_earlier_result_part;

/// What an earlier file holds. Zero-initialise; free it at the end.
typedef struct wk_earlier_result {
    wk_arena arena;
    char *json, *csv; // NULL: there is no such file
    WK_ARRAY(wk_earlier_result_part) parts;
} wk_earlier_result;

/// Reads the list that the document is at, and adds its parts with wk_earlier_result_add.
typedef void wk_read_parts(wk_document *document, wk_earlier_result *out);

/// The files of a result.
typedef struct wk_result_files {
    const char *stem;     // "adapted-000000500000"
    const char *protocol; // "envs5-seed0", for a second name
    const char *list;     // key of its list, which `head` ends at
    const wk_text *head;
    const char *csv_head; // first line of the CSV file; NULL: there is none
    wk_read_parts *read;
} wk_result_files;

/// Finds the name to write under, without an ending, and what is carried over. Zero-initialise
/// `earlier`; free it also on failure.
wk_status wk_result_files_choose(const wk_result_files *files, const wk_dir *folder,
                                 char name[WK_RESULT_NAME_MAX], wk_earlier_result *earlier,
                                 wk_error *err);
/// Adds a part; for wk_read_parts.
void wk_earlier_result_add(wk_earlier_result *earlier, wk_document *document, const char *of,
                           const char *name, const char *json, size_t length);
/// Appends the lines of an earlier CSV file that begin with "OF,NAME,".
void wk_earlier_result_csv(const wk_earlier_result *earlier, const char *of, const char *name,
                           wk_text *out);
void wk_earlier_result_free(wk_earlier_result *earlier);

/// Member `key` of a JSON object, kept in `arena`; NULL where it is no string.
const char *wk_raw_member(const char *json, size_t length, const char *key, wk_arena *arena);

/// Writes the text under name + ending, atomically, and frees it.
wk_status wk_result_file_write(wk_text *text, const wk_dir *folder, const char *name,
                               const char *ending, wk_error *err);

#endif
