# Starts the run of an array task and puts exactly this task back into the queue: when it saved, and
# after a failure while attempt.json allows another attempt.
task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
name=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$directory/sweep/slurm/$number.tasks")
[ "$name" ] || { echo "no task $task in $number.tasks"; exit 2; }
# It may have gone back into the queue while the sweep was cancelled.
[ ! -e "$directory/sweep/slurm/cancelled" ] || exit 0
# Slurm itself requeues what was on a node that failed, as often as nodes do.
[ "${SLURM_RESTART_COUNT:-0}" -le $restarts_max ] ||
    { echo "restarted $SLURM_RESTART_COUNT times already"; exit 1; }

# Slurm's signals go to the run, which srun starts. This script lives on to requeue its task.
stopped=
trap stopped=yes TERM INT HUP USR1 USR2
srun --ntasks=1 "$waker" sweep run "$directory" "$name" "$@"
code=$?
case $code in
0) exit 0 ;;
75 | 138 | 140 | 143) stopped=yes ;; # saved, or ended by a signal before it could save
esac
[ ! -e "$directory/sweep/slurm/cancelled" ] || exit $code

why=saved
if [ ! "$stopped" ]; then
    # Code 2 is bad input, unless another process has the task: its attempt is open.
    field() { sed -n "s/.*\"$1\": *\([^,}]*\).*/\1/p" "$directory/sweep/tasks/$name/attempt.json"; }
    why="failed with exit code $code" attempts=$(field attempts)
    [ $code != 2 ] || [ "$(field open)" = true ] || exit 2
    # Those after which the run got further do not count, which waker knows.
    failed() { "$waker" sweep status "$directory" --attempts $attempts_max --json |
        grep -A 2 -F "\"name\": \"$name\"" | grep -q '"state": "failed"'; }
    [ "${attempts:-0}" -lt $attempts_max ] || ! failed || exit $code
fi
if [ "${SLURM_RESTART_COUNT:-0}" -ge $restarts_max ]; then
    echo "$why, but restarted $SLURM_RESTART_COUNT times already; run the same 'waker sweep' to submit it again"
    exit $code
fi
echo "$why; task $task is requeued"
scontrol requeue "$task" || exit $code
