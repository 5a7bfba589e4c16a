// The style sheet of the page.
#ifndef WK_REPORT_PAGE_PAGE_STYLE_H
#define WK_REPORT_PAGE_PAGE_STYLE_H

/// CSS for <style>; has no character that HTML would need escaped there.
extern const char wk_page_style[];

#endif
