// Trains in a directory, or resumes the run there, and shows how far it is; Ctrl-C saves and ends.
// Then it prints how the model's loss went. What is trained is said as to `waker train`: blocks of
// settings, and single keys.
//
//   cc -O2 train_run.c -o train_run $(pkg-config --cflags --libs waker)
//   ./train_run runs/a clean-up waker-m quick steps=20000 seed=1
//   ./train_run runs/a
#include <stdio.h>
#include <string.h>
#include <waker/results.h>
#include <waker/train.h>

enum { MAX_WORDS = 64 };

static volatile sig_atomic_t stop;

static void on_interrupt(int number)
{
    stop = number;
}

static void show_progress(void *context, const wk_train_progress *now)
{
    (void)context;
    static int64_t shown;
    if (now->steps - shown < now->total / 20) return;
    shown = now->steps;
    printf("%lld of %lld steps, %.0f s left", (long long)now->steps, (long long)now->total,
           now->seconds_left);
    if (now->updates > 0) printf(", model loss %.3f", now->model_loss);
    printf("\n");
    fflush(stdout);
}

static void show_message(void *context, bool is_warning, const char *line)
{
    (void)context;
    fprintf(stderr, "%s%s\n", is_warning ? "warning: " : "", line);
}

// Words with a '=' are settings, the others blocks.
static void sort_words(char **words, const char **blocks, wk_train_setting *settings)
{
    for (; *words; words++) {
        char *equals = strchr(*words, '=');
        if (!equals) {
            *blocks++ = *words;
            continue;
        }
        *equals = 0;
        *settings++ = (wk_train_setting){*words, equals + 1};
    }
}

static wk_status run(const wk_train_config *config, wk_error *err)
{
    wk_run_end end;
    wk_curve loss;
    WK_TRY(wk_train_run(config, &end, err));
    if (end != WK_RUN_FINISHED) printf("saved; the same command resumes\n");
    WK_TRY(wk_curve_read(config->directory, "train/model_loss", &loss, err));
    printf("model loss: %.3f at step %llu, %.3f at step %llu\n", loss.values[0],
           (unsigned long long)loss.steps[0], loss.values[loss.count - 1],
           (unsigned long long)loss.steps[loss.count - 1]);
    wk_curve_free(&loss);
    return WK_OK;
}

int main(int argc, char **argv)
{
    wk_error err;
    const char *blocks[MAX_WORDS] = {0};
    wk_train_setting settings[MAX_WORDS] = {{0}};
    if (argc < 2 || argc > MAX_WORDS) {
        fprintf(stderr, "usage: %s DIRECTORY [BLOCK]... [KEY=VALUE]...\n", argv[0]);
        return 2;
    }
    sort_words(argv + 2, blocks, settings);
    wk_train_config config = wk_train_config_default();
    config.directory = argv[1];
    config.blocks = blocks;
    config.settings = settings;
    config.stop = &stop;
    config.progress = show_progress;
    config.message = show_message;
    signal(SIGINT, on_interrupt);
    if (run(&config, &err) == WK_OK) return 0;
    fprintf(stderr, "%s: %s\n", argv[0], err.message);
    return 1;
}
