// The options of jobs on Slurm: kept in a file, checked, and printed into scripts.
#include "sweep/sweep.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// How an option is kept, and what it is in a script.
static const struct {
    const char *key;
    size_t offset;
    bool text;
    const char *line; // "#SBATCH --" and the value follow; NULL: the script itself uses it
    bool report;      // the job of the report has it too
} options_table[] = {
#define AT(member) #member, offsetof(wk_slurm_options, member)
    {AT(partition), true, "partition=", true},
    {AT(time), true, "time=", true},
    {AT(account), true, "account=", true},
    {AT(mail), true, "mail-user=", true},
    {AT(memory), true, "mem=", false},
    {AT(gpus), false, "gres=gpu:", false},
    {AT(cpus), false, "cpus-per-task=", false},
    // Without "B:" the signal goes to the run and not to the script.
    {AT(signal), false, "signal=USR1@", false},
    {AT(parallel), false, NULL, false},
    {AT(restarts), false, NULL, false},
#undef AT
};
enum { N_OPTIONS = sizeof options_table / sizeof *options_table };

// An option as text; NULL where it is left to the cluster.
static const char *text_of(const wk_slurm_options *options, int i, char digits[16])
{
    const char *member = (const char *)options + options_table[i].offset;
    if (options_table[i].text) return *(const char *const *)(const void *)member;
    int number = *(const int *)(const void *)member;
    snprintf(digits, 16, "%d", number);
    return number > 0 ? digits : NULL;
}

void wk_slurm_options_print(const wk_slurm_options *options, wk_text *out)
{
    char digits[16];
    for (int i = 0; i < N_OPTIONS; i++) {
        const char *text = text_of(options, i, digits);
        if (text) wk_text_printf(out, "%s %s\n", options_table[i].key, text);
    }
    for (int i = 0; i < options->n_lines; i++)
        wk_text_printf(out, "line %s\n", options->lines[i]);
}

static bool parse_option(const char *key, const char *value, wk_slurm_options *out)
{
    uint64_t number;
    if (strcmp(key, "line") == 0 && out->n_lines < WK_SLURM_LINES_MAX)
        return out->lines[out->n_lines++] = value, true;
    for (int i = 0; i < N_OPTIONS; i++) {
        void *member = (char *)out + options_table[i].offset;
        if (strcmp(key, options_table[i].key) != 0) continue;
        if (options_table[i].text) return *(const char **)member = value, true;
        if (!wk_text_to_unsigned(value, &number) || number > 1000000000) return false;
        return *(int *)member = (int)number, true;
    }
    return false;
}

// Options that a line may not have: files and programs, and what the scripts set themselves. Lines
// are kept in the sweep's directory, which may come from anywhere. Slurm takes beginnings of long
// names for them.
static bool is_refused(const char *word, size_t length)
{
    static const char *const names[] = {
        "output",      "error",     "input",        "open-mode",  "chdir", "wrap",
        "export-file", "nodefile",  "bb",           "bbf",        "bcast", "array",
        "job-name",    "container", "get-user-env", "dependency", "uid"};
    if (length < 2) return true;
    // One letter that takes no value may be followed by another: -Qo/home/me/.profile.
    bool more = word[2] && word[2] != ' ';
    if (word[1] != '-')
        return strchr("oeiDFaJd", word[1]) || (more && strchr("hHIkOQsuvVW", word[1]));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length < 4 || strncmp(names[i], word + 2, length - 2) == 0) return true;
    return false;
}

static wk_status check_text(const char *what, const char *text, bool blanks, wk_error *err)
{
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c) || (!blanks && *c == ' '))
            return wk_fail(err, WK_E_INPUT, "--%s contains a blank or a control character", what);
    if (!*text || strlen(text) > 1000)
        return wk_fail(err, WK_E_INPUT, "--%s is %s", what, *text ? "too long" : "empty");
    return WK_OK;
}

wk_status wk_slurm_options_check(const wk_slurm_options *options, wk_error *err)
{
    char digits[16];
    for (int i = 0; i < N_OPTIONS; i++) {
        const char *text = text_of(options, i, digits);
        if (text) WK_TRY(check_text(options_table[i].key, text, false, err));
    }
    for (int i = 0; i < options->n_lines; i++) {
        const char *line = options->lines[i];
        WK_TRY(check_text("sbatch", line, true, err));
        if (*line != '-')
            return wk_fail(err, WK_E_INPUT,
                           "--sbatch '%s' is not an option of sbatch: options begin with a dash",
                           line);
        for (const char *at = line; *at; at += strcspn(at, " ")) {
            at += strspn(at, " \"'");
            size_t length = strcspn(at, "= \"'");
            if (strchr(at, '\\') || (*at == '-' && is_refused(at, length)))
                return wk_fail(err, WK_E_INPUT,
                               "--sbatch '%.*s': the sweep itself sets the files, programs and "
                               "names of its jobs",
                               (int)length, at);
        }
    }
    return WK_OK;
}

wk_status wk_slurm_options_parse(char *text, wk_slurm_options *out, wk_error *err)
{
    *out = (wk_slurm_options){.gpus = text ? 0 : 1};
    for (char *line; (line = strsep(&text, "\n"));) {
        char *value = line, *key = strsep(&value, " ");
        if (*line && (!value || !parse_option(key, value, out)))
            return wk_fail(
                err, WK_E_FORMAT,
                "'%.100s' in sweep/slurm/options is not an option; give the options again", line);
    }
    return wk_slurm_options_check(out, err);
}

void wk_slurm_options_lines(const wk_slurm_options *options, bool report, wk_text *out)
{
    char digits[16];
    for (int i = 0; i < N_OPTIONS; i++) {
        const char *line = options_table[i].line, *text = text_of(options, i, digits);
        if (line && text && (!report || options_table[i].report))
            wk_text_printf(out, "#SBATCH --%s%s\n", line, text);
    }
    if (options->mail)
        wk_text_printf(out, "#SBATCH --mail-type=%s\n", report ? "END,FAIL" : "FAIL");
    for (int i = 0; i < options->n_lines; i++)
        wk_text_printf(out, "#SBATCH %s\n", options->lines[i]);
}
