/*
 * What the files of charts share.
 */
#ifndef COT_REPORT_SVG_INSIDE_H
#define COT_REPORT_SVG_INSIDE_H

#include <stdio.h>

#define COT_SVG_WIDTH	   960.0
#define COT_SVG_LEGEND_ROW 20.0
#define COT_SVG_CHAR_WIDTH 6.8 /* of the 12 px font, on average */

/* `anchor`: start, middle or end. */
void cot_svg_text(FILE *out, double x, double y, const char *anchor, const char *class_name,
		  const char *s);
/* Attributes with the colour of a series. */
void cot_svg_fill(FILE *out, unsigned series);
/* Begins a picture of full width. */
void cot_svg_open(FILE *out, double height, const char *title);
/* Draws the legend, or only counts its rows when `out` is NULL. */
unsigned cot_svg_legend(FILE *out, unsigned n, const char *const *names, double top);

#endif
