// What is written on a contact sheet is whole, however small its images are.
#include "report/sheet.h"
#include "support/check.h"
#include "support/toy_domain.h"

// Pixels of the headings and of the captions; no pixel of the toy's images is grey.
typedef struct writing {
    int headings, captions;
} writing;

static writing read_sheet(const wk_domain *domain, int cell)
{
    wk_error err = {0};
    wk_image sheet;
    int cells;
    writing found = {0};
    assert_ok(wk_contact_sheet_draw(domain, NULL, 0, 1, cell, &sheet, &cells, &err));
    for (int i = 0; i < sheet.width * sheet.height; i++) {
        const uint8_t *p = sheet.rgb + 3 * i;
        bool grey = p[0] == p[1] && p[1] == p[2];
        found.headings += grey && p[0] == 0x20;
        found.captions += grey && p[0] == 0x70;
    }
    wk_image_free(&sheet);
    return found;
}

TEST_CASE(small_images_leave_room_for_what_is_written)
{
    toy t = toy_make(TOY_SOUND);
    writing large = read_sheet(&t.domain, 200), small = read_sheet(&t.domain, 8);
    assert_true(large.headings > 0 && large.captions > 0);
    assert_int_equal(small.headings, large.headings);
    assert_int_equal(small.captions, large.captions);
}

TEST_CASE(a_sheet_of_one_column_is_as_wide_as_its_title)
{
    toy t = toy_make(TOY_SOUND);
    wk_param params[2] = {t.domain.params[0], t.domain.params[1]};
    params[1].max = params[1].min; // one value across
    t.domain.params = params;
    t.domain.n_cases = 0;
    writing large = read_sheet(&t.domain, 1000), usual = read_sheet(&t.domain, 16);
    assert_int_equal(usual.headings, large.headings);
}

TEST_MAIN(NULL, NULL)
