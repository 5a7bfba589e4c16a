// Event files read back by the tensorboard package itself.
#include "log/logs.h"
#include "log/metrics.h"
#include "support/python.h"

#define FOLDER "tensorboard_peer.tmp"

static const char reader[] =
    "import glob, json, math, struct, sys\n"
    "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
    "from tensorboard.backend.event_processing.event_file_loader import EventFileLoader\n"
    "a = EventAccumulator(sys.argv[1])\n"
    "a.Reload()\n"
    "assert set(a.Tags()['scalars']) == {'losses/model_loss', 'train/bad',\n"
    "    'scores/train_return_walk', 'scores/eval_walk_mean_return', 'time/fps'}, a.Tags()\n"
    "loss = [(e.step, e.value) for e in a.Scalars('losses/model_loss')]\n"
    "assert loss == [(0, 1.0), (10, 0.5), (20, 0.25)], loss\n"
    "assert math.isnan(a.Scalars('train/bad')[0].value)\n"
    "still, = a.Images('curriculum')\n"
    "png = still.encoded_image_string\n"
    "assert (still.step, still.width, still.height) == (20, 6, 4), still\n"
    "assert png[:8] == b'\\x89PNG\\r\\n\\x1a\\n' and struct.unpack('>II', png[16:24]) == (6, 4)\n"
    "gif = a.Images('train_openl_image')[0].encoded_image_string\n"
    "assert gif[:6] == b'GIF89a' and struct.unpack('<HH', gif[6:10]) == (6, 4)\n"
    "file, = glob.glob(sys.argv[1] + '/events*')\n"
    "events = list(EventFileLoader(file).Load())\n"
    "assert len(events) == 5 and events[0].file_version == 'brain.Event:2'\n"
    "from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData\n"
    "values = {v.tag: v for v in events[1].summary.value}\n"
    "assert values['config'].metadata.plugin_data.plugin_name == 'text'\n"
    "text = values['config'].tensor.string_val[0].decode()\n"
    "assert '| `domain` | `clean-up` |' in text and '| `batch` | `16` |' in text, text\n"
    "plug = values['_hparams_/session_start_info'].metadata.plugin_data\n"
    "hparams = HParamsPluginData.FromString(plug.content).session_start_info.hparams\n"
    "assert plug.plugin_name == 'hparams' and hparams['batch'].number_value == 16\n"
    "assert hparams['domain'].string_value == 'clean-up'\n"
    "lines = [json.loads(l) for l in open(sys.argv[1] + '/metrics.jsonl')]\n"
    "assert [l['step'] for l in lines] == [0, 20, 40]\n"
    "assert [l['train/model_loss'] for l in lines] == [1.0, 0.5, 0.25]\n"
    "assert lines[2]['bad'] is None and lines[2]['env_sampler/num_episodes/[0.5]'] == 3\n";

TEST_CASE(the_tensorboard_package_reads_what_we_write)
{
    const char *python = python_with("tensorboard");
    wk_error err = {0};
    static const wk_metrics_mark beginning;
    static const wk_log_setting settings[] = {{"domain", "clean-up", false, 0},
                                              {"batch", "16", true, 16}};
    wk_metrics_mark mark;
    wk_metrics *metrics;
    remove_tree(FOLDER);
    assert_ok(wk_metrics_open(&(wk_metrics_config){.logdir = FOLDER,
                                                   .tensorboard = true,
                                                   .action_repeat = 2,
                                                   .settings = settings,
                                                   .n_settings = 2},
                              &beginning, &metrics, &err));
    for (int i = 0; i < 3; i++) {
        if (i == 1) assert_ok(wk_metrics_position(metrics, &mark, &err));
        wk_metrics_scalar(metrics, "train/model_loss", i == 2 ? 99 : 1.0 / (1 << i));
        assert_ok(wk_metrics_write(metrics, 10 * i, &err));
    }
    wk_metrics_close(metrics);
    // Back to the mark, as a resumed run would; then the rest, with images.
    assert_ok(wk_metrics_open(
        &(wk_metrics_config){.logdir = FOLDER, .tensorboard = true, .action_repeat = 2}, &mark,
        &metrics, &err));
    wk_metrics_scalar(metrics, "train/model_loss", 0.5);
    assert_ok(wk_metrics_write(metrics, 10, &err));
    wk_image frames[2];
    assert_ok(wk_image_create(6, 4, 0xff0000, &frames[0], &err));
    assert_ok(wk_image_create(6, 4, 0x0000ff, &frames[1], &err));
    wk_metrics_scalar(metrics, "train/model_loss", 0.25);
    wk_metrics_scalar(metrics, "bad", NAN);
    wk_metrics_scalar(metrics, "train_return_walk", 7);
    wk_metrics_scalar(metrics, "eval_walk/eval_walk_mean_return", 8);
    wk_metrics_timing(metrics, "fps", 9);
    wk_metrics_detail(metrics, "env_sampler/num_episodes/[0.5]", 3);
    assert_ok(wk_metrics_image(metrics, "curriculum", &frames[0], &err));
    assert_ok(wk_metrics_clip(metrics, "train_openl_image", frames, 2, &err));
    assert_ok(wk_metrics_write(metrics, 20, &err));
    wk_metrics_close(metrics);
    wk_image_free(&frames[0]);
    wk_image_free(&frames[1]);
    assert_int_equal(python_run(python, reader, FOLDER), 0);
    remove_tree(FOLDER);
}

TEST_MAIN(NULL, NULL)
