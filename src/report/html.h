/*
 * Self-contained HTML pages: one file, no scripts, nothing fetched, light and dark after the
 * reader's setting. The style sheet holds the colours that report/svg.h draws with (--s0 .. --s7).
 */
#ifndef COT_REPORT_HTML_H
#define COT_REPORT_HTML_H

#include <stdio.h>

/* `subtitle` may be NULL. */
void cot_html_begin(FILE *out, const char *title, const char *subtitle);
void cot_html_heading(FILE *out, const char *text); /* starts a section */
void cot_html_paragraph(FILE *out, const char *text);
/* Lines of a file or a log, as they are. */
void cot_html_listing(FILE *out, const char *text);
void cot_html_figure_begin(FILE *out);
void cot_html_figure_end(FILE *out, const char *caption); /* NULL: none */
void cot_html_end(FILE *out);

/* Text with <, >, &, quotes escaped; an end of line becomes a space, other control characters '?'.
 */
void cot_html_text(FILE *out, const char *text);

#endif
