// tools/piece: a part of a grid is trained by a daemon, fetched in pieces, put together, and is
// what the daemon made; the rest of the grid can be made there.
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define PLACE "piece-place"

static void shell(const char *script)
{
    char command[2048];
    snprintf(command, sizeof command,
             "cd " PLACE " && : >said && (set -e; PIECE=" WAKER_SOURCE_DIR
             "/tools/piece; WAKER=" WAKER_BINARY_DIR
             "/waker; %s) >>said 2>&1 || { cat said; exit 1; }",
             script);
    if (system(command) != 0) fail_msg("%s", script);
}

static int make_place(void **state)
{
    return system("rm -rf " PLACE " && mkdir " PLACE " && cd " PLACE
                  " && echo 'blocks: {domain: toy, curriculum: [waker-m, dr]}\n"
                  "keys: {seed: 0..1, steps: [800], tasks: [west]}\n"
                  "then: {eval: \"--envs 3\"}' >grid.yaml");
}

static int remove_place(void **state)
{
    return system("rm -rf " PLACE);
}

TEST_CASE(what_was_fetched_is_what_was_made)
{
    shell("$PIECE start $WAKER grid.yaml seed=0 far --populations 2 --quiet; "
          "$PIECE wait far 300; grep -x 0 far/ended");
    // A first call without room for weights, a second that brings them, a third that has none left.
    shell("$PIECE pack far none 0; ! ls none/*.aa; $PIECE pack far first 2; ls first/*.aa; "
          "$PIECE pack far second 2; ! ls second/*.aa");
    shell("$PIECE join first second near; "
          "for run in waker-m dr; do run=$run-seed0-steps800-tasks-west; "
          "for file in config.yaml metrics.jsonl eval/alongside-000000000800.json "
          "snapshots/step-000000000800.safetensors; do "
          "cmp far/runs/$run/$file near/runs/$run/$file; done; done");
}

TEST_CASE(the_rest_of_the_grid_is_made_from_there)
{
    shell("$WAKER sweep --logdir near/runs --only seed=1 --rate 300 --quiet; "
          "$WAKER sweep status near/runs --json >status; test $(grep -c '\"state\": \"done\"' "
          "status) -eq 4");
}

TEST_CASE(wrong_usage_is_explained)
{
    shell("for words in '' start 'pack far' 'fetch far'; do "
          "! $PIECE $words 2>usage; grep '^usage: tools/piece start' usage; done");
}

TEST_MAIN(make_place, remove_place)
