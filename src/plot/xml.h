// Text inside XML and HTML.
#ifndef WK_PLOT_XML_H
#define WK_PLOT_XML_H

#include "base/text.h"

/// Appends text with the characters that mean something in HTML and XML escaped, also inside quoted
/// attributes. Bytes that are not UTF-8 and characters XML does not allow become U+FFFD.
void wk_xml_escape(const char *text, wk_text *out);

#endif
