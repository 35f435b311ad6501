#include "report/html.h"

#include <string.h>

void cot_html_text(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	for (; *p; p++) {
		switch (*p) {
		case '<':
			(void)fputs("&lt;", out);
			break;
		case '>':
			(void)fputs("&gt;", out);
			break;
		case '&':
			(void)fputs("&amp;", out);
			break;
		case '"':
			(void)fputs("&quot;", out);
			break;
		case '\'':
			(void)fputs("&#39;", out);
			break;
		default:
			(void)fputc(*p == '\n' ? ' ' : *p < 0x20 || *p == 0x7f ? '?' : *p, out);
		}
	}
}

/*
 * The series colours follow Okabe and Ito's palette for colour-blind readers, darkened or lightened
 * until each stands out from its background.
 */
static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1c2127;--dim:#5b6672;--rule:#d9dee3;"
	"--panel:#f6f8fa;--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#cc79a7;--s4:#c98f00;"
	"--s5:#56b4e9;--s6:#7a5cc0;--s7:#7f7f7f}\n"
	"@media (prefers-color-scheme:dark){:root{--bg:#14181d;--fg:#e4e8ec;--dim:#9aa5b1;"
	"--rule:#333b44;--panel:#1c2229;--s0:#4aa3df;--s1:#f0813c;--s2:#2fc497;--s3:#de93bb;"
	"--s4:#e6b43c;--s5:#8fd0f7;--s6:#a892e8;--s7:#a0a0a0}}\n"
	"body{background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;"
	"max-width:62rem;margin:2rem auto;padding:0 1rem}\n"
	"h1{font-size:1.6rem;line-height:1.2;margin:0 0 .25rem}"
	"h2{font-size:1.15rem;margin:2.25rem 0 .5rem}\n"
	".sub{color:var(--dim);margin:0 0 1.5rem}\n"
	".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.94rem}\n"
	"th,td{text-align:left;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--rule);"
	"white-space:nowrap}th{color:var(--dim);font-weight:600;white-space:normal;vertical-align:bottom}"
	".num{text-align:right;font-variant-numeric:tabular-nums}\n"
	"pre{font-size:.85rem;padding:.75rem;background:var(--panel);border-radius:8px;overflow-x:auto}\n"
	"figure{margin:1rem 0;padding:.75rem;background:var(--panel);border-radius:8px;"
	"overflow-x:auto}figcaption{color:var(--dim);font-size:.9rem}\n"
	"svg{display:block;width:100%;min-width:36rem;height:auto;"
	"font:12px system-ui,sans-serif}\n"
	"svg text{fill:var(--fg)}svg .dim{fill:var(--dim)}\n"
	".grid{stroke:var(--rule);stroke-width:1}.axis{stroke:var(--dim);stroke-width:1}"
	".ref{stroke:var(--dim);stroke-width:1.2;stroke-dasharray:5 4}\n"
	".line{fill:none;stroke-width:2;stroke-linejoin:round}.dash{stroke-dasharray:6 4}\n"
	".f0{fill:var(--s0)}.f1{fill:var(--s1)}.f2{fill:var(--s2)}.f3{fill:var(--s3)}"
	".f4{fill:var(--s4)}.f5{fill:var(--s5)}.f6{fill:var(--s6)}.f7{fill:var(--s7)}\n"
	".l0{stroke:var(--s0)}.l1{stroke:var(--s1)}.l2{stroke:var(--s2)}.l3{stroke:var(--s3)}"
	".l4{stroke:var(--s4)}.l5{stroke:var(--s5)}.l6{stroke:var(--s6)}.l7{stroke:var(--s7)}\n"
	"@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--dim:#444;--rule:#ccc;--panel:#fff;"
	"--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#cc79a7;--s4:#c98f00;--s5:#56b4e9;--s6:#7a5cc0;"
	"--s7:#7f7f7f}body{font-size:10pt;max-width:none;margin:0}"
	".scroll,figure{overflow:visible}pre{white-space:pre-wrap;padding:0}svg{min-width:0}figure{padding:0}figure,tr{break-inside:avoid}"
	"h2{break-after:avoid}table{font-size:8.5pt}th,td{white-space:normal}}\n"
	"footer{margin:3rem 0 1rem;color:var(--dim);font-size:.85rem}\n";

void cot_html_begin(FILE *out, const char *title, const char *subtitle)
{
	(void)fputs(
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
		out);
	cot_html_text(out, title);
	(void)fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
	cot_html_text(out, title);
	(void)fputs("</h1>\n", out);
	if (subtitle) {
		(void)fputs("<p class=\"sub\">", out);
		cot_html_text(out, subtitle);
		(void)fputs("</p>\n", out);
	}
}

void cot_html_heading(FILE *out, const char *text)
{
	(void)fputs("<h2>", out);
	cot_html_text(out, text);
	(void)fputs("</h2>\n", out);
}

void cot_html_paragraph(FILE *out, const char *text)
{
	(void)fputs("<p>", out);
	cot_html_text(out, text);
	(void)fputs("</p>\n", out);
}

void cot_html_listing(FILE *out, const char *text)
{
	const char *end;
	char line[256];

	(void)fputs("<pre>", out);
	for (; *text; text = end + (*end == '\n')) {
		end = text + strcspn(text, "\n");
		(void)snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
		cot_html_text(out, line);
		(void)fputc('\n', out);
	}
	(void)fputs("</pre>\n", out);
}

void cot_html_figure_begin(FILE *out)
{
	(void)fputs("<figure>\n", out);
}

void cot_html_figure_end(FILE *out, const char *caption)
{
	if (caption) {
		(void)fputs("<figcaption>", out);
		cot_html_text(out, caption);
		(void)fputs("</figcaption>\n", out);
	}
	(void)fputs("</figure>\n", out);
}

void cot_html_end(FILE *out)
{
	(void)fputs("<footer>Written by cotenant.</footer>\n</body>\n</html>\n", out);
}
