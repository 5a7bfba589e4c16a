// A page in a real browser: headless Chromium lays it out as wide as a phone and as a desktop
// window, a script around it measures, and an image is taken. All of it stays in a folder below the
// build's tests/ to be looked at.
#ifndef WK_TESTS_REPORT_BROWSER_H
#define WK_TESTS_REPORT_BROWSER_H

#include "media/image.h"
#include <stddef.h>

enum { BROWSER_PHONE = 390, BROWSER_DESKTOP = 1200, BROWSER_HEIGHT = 3000, BROWSER_SKIPPED = 77 };

/// The Chromium to use (WAKER_CHROMIUM, else what is on the path), or NULL.
const char *browser_find(void);

/// Lays `page` out in both widths; what is left goes into tests/FOLDER of the build.
void browser_open(const char *folder, const char *page);
/// Forgets it.
void browser_close(void);

/// A number that was measured at a width: overflow (pixels the page is too wide), beyond (elements
/// outside the screen), spilled (texts outside their figure), smallest (letter in a figure,
/// pixels), tables, figures, sections (that can be seen), unseen (rows whose first number needs
/// scrolling), links (of the contents, that lead somewhere), fetched (resources), scripts, foreign
/// (elements that no page of ours has).
double browser_measure(int width, const char *name);
/// Fails unless the number is the same at both widths and as expected.
void browser_expect(const char *name, double expected);

/// The image: the phone's screen, 10 pixels, the desktop's.
wk_image browser_picture(void);

#endif
