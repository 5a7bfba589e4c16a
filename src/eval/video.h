// Episodes of an evaluation to look at: the best, the middling and the worst of a case as clips,
// each with what the world model imagines next to what happened. The model sees 5 frames, imagines
// 45 from the actions alone, then is shown 5 again, and so on.
#ifndef WK_EVAL_VIDEO_H
#define WK_EVAL_VIDEO_H

#include "eval/result.h"

/// Which episodes of a case are shown.
typedef enum wk_video_rank {
    WK_VIDEO_BEST,
    WK_VIDEO_MEDIAN,
    WK_VIDEO_WORST,
    WK_VIDEO_RANKS
} wk_video_rank;

/// Number of the episode by the task's score, equal ones by their return, then by number. Of an
/// even number of episodes the median is the worse of the two in the middle.
int wk_video_episode(const wk_domain *domain, const wk_task_result *task, int case_index,
                     wk_video_rank rank);

/// File formats of a clip; a set of them is their sum.
enum { WK_VIDEO_GIF = 1, WK_VIDEO_MP4 = 2 };

/// Writes the three clips of every case of a task next to the results under `run`/eval, named as
/// those will be, in each of the formats: POLICY-STEP-TASK-CASE-RANK.gif,
/// POLICY-STEP-envsN-seedS-TASK-CASE-RANK.gif. The setup must have a learner, and the results the
/// actions.
wk_status wk_video_write(wk_eval_result *result, const wk_eval_setup *setup,
                         const wk_task_result *task, const char *run, unsigned formats,
                         wk_error *err);

#endif
