#include "cli/config_list.h"

#include "waker/curriculum.h"
#include "waker/env.h"
#include <string.h>

// What domains and rules say of themselves is taken from there.
static const struct {
    const char *file, *heading;
} groups[] = {{WK_ORIGIN_DEFAULTS, "Always there"},
              {"domains.yaml", "Domains: name one first"},
              {"curricula.yaml", "Curricula"},
              {"exploration.yaml", "Exploration"},
              {"presets.yaml", "Presets, sizes for a machine: name one last"}};

enum { N_GROUPS = sizeof groups / sizeof *groups };

static const struct {
    const char *block, *text;
} descriptions[] = {{"defaults", "every key, with the paper's numbers for the terrain domains"},
                    {"plan2explore", "a policy that seeks the ensemble's disagreement"},
                    {"random", "random actions"},
                    {"paper", "the paper's networks and batches: a data-centre GPU"},
                    {"small", "a desktop GPU, or a patient CPU"},
                    {"quick", "two CPU cores and minutes"}};

static const char *describe(const char *block)
{
    const wk_domain *domain;
    const wk_curriculum_rule *rule;
    for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++)
        if (strcmp(descriptions[i].block, block) == 0) return descriptions[i].text;
    if (wk_domain_find(block, &domain, NULL) == WK_OK) return domain->summary;
    if (wk_curriculum_rule_find(block, &rule, NULL) == WK_OK) return rule->summary;
    return "";
}

static void put_group(const wk_config_blocks *blocks, const char *heading, const char *file,
                      wk_text *out)
{
    wk_text_printf(out, "%s%s (%s)\n", out->length ? "\n" : "", heading, file);
    for (size_t i = 0; i < wk_config_blocks_count(blocks); i++) {
        const char *name = wk_config_blocks_name(blocks, i);
        if (strcmp(wk_config_blocks_file(blocks, i), file) != 0) continue;
        const char *text = describe(name);
        wk_text_printf(out, *text ? "  %-16s%s\n" : "  %s\n", name, text);
    }
}

static bool is_own(const char *file)
{
    for (size_t g = 0; g < N_GROUPS; g++)
        if (strcmp(groups[g].file, file) == 0) return false;
    return true;
}

void wk_config_list(const wk_config_blocks *blocks, wk_text *out)
{
    for (size_t g = 0; g < N_GROUPS; g++)
        put_group(blocks, groups[g].heading, groups[g].file, out);
    const char *last = "";
    for (size_t i = 0; i < wk_config_blocks_count(blocks); i++) {
        const char *file = wk_config_blocks_file(blocks, i);
        if (is_own(file) && strcmp(file, last) != 0) put_group(blocks, "Your own", file, out);
        last = file;
    }
}
