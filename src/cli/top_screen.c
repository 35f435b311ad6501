/* cotenant top on a terminal, by ncurses. What is drawn is top_lines.c's. */
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/show.h"
#include "cli/top.h"
#include "text/number.h"

/* How long a key may have to wait for the next look at the clock. */
#define TICK_MS 50

enum question { NO_QUESTION, ASK_FREEZE, ASK_WEIGHT, ASK_FILTER };

struct screen {
	struct cot_top_wish *wish;
	json_t *stats; /* NULL: no daemon */
	struct cot_top_rows rows;
	size_t first;
	enum question question;
	char typed[COT_TOP_TEXT_MAX]; /* the answer until now */
	char message[512];
	bool over, colours;
};

/* ---- what is shown ---- */

static struct cot_top_row *selected(struct screen *s)
{
	size_t i;

	for (i = 0; i < s->rows.n; i++)
		if (s->rows.row[i].id == s->wish->view.selected)
			return &s->rows.row[i];
	return NULL;
}

/* Rows anew from what was said last. */
static void arrange(struct screen *s)
{
	cot_top_rows_destroy(&s->rows);
	if (!s->stats || cot_top_rows_create(s->stats, &s->wish->view, &s->rows) < 0)
		s->rows = (struct cot_top_rows){.n = 0};
	if (selected(s))
		return;
	s->wish->view.selected = s->rows.n ? s->rows.row[0].id : 0;
	if (s->question == ASK_FREEZE || s->question == ASK_WEIGHT) {
		/* The answer was meant for another program. */
		s->question = NO_QUESTION;
		(void)snprintf(s->message, sizeof(s->message), "It is gone: nothing was done.");
	}
}

static void look(struct screen *s)
{
	struct cot_error err = {{0}};

	json_decref(s->stats);
	if (cot_show_query(COT_QUERY_STATS, &s->stats, &err) < 0)
		s->stats = NULL;
	arrange(s);
}

static const char *message_of(struct screen *s, char *text, size_t size)
{
	const struct cot_top_row *r = selected(s);
	const char *name = r ? r->name : "";

	switch (s->question) {
	case ASK_FREEZE:
		(void)snprintf(text, size, "Freeze %s? Its work on the GPU stops. y/n", name);
		return text;
	case ASK_WEIGHT:
		(void)snprintf(text, size, "Weight of %s: %s_", name, s->typed);
		return text;
	case ASK_FILTER:
		(void)snprintf(text, size, "Only: %s_", s->typed);
		return text;
	default:
		return s->message[0] ? s->message : NULL;
	}
}

static attr_t attribute_of(const struct screen *s, const struct cot_top_line *line)
{
	attr_t attribute = line->tone == COT_TOP_HEAD ? A_BOLD : A_NORMAL;

	if (s->colours && line->tone == COT_TOP_BAD)
		attribute |= COLOR_PAIR(1);
	if (s->colours && line->tone == COT_TOP_COLD)
		attribute |= COLOR_PAIR(2);
	return line->id && line->id == s->wish->view.selected ? attribute | A_REVERSE : attribute;
}

static void put_line(const struct screen *s, int y, const struct cot_top_line *line)
{
	(void)attron((int)attribute_of(s, line));
	(void)mvaddstr(y, 0, line->text);
	(void)attrset(A_NORMAL);
}

static void draw(struct screen *s)
{
	long long chosen = s->wish->view.selected;
	struct cot_top_picture p;
	char text[256];
	size_t i, room;
	int y = 0;

	s->wish->view.message = message_of(s, text, sizeof(text));
	if (cot_top_picture_create(s->stats, &s->rows, &s->wish->view,
				   COLS > 0 ? (unsigned)COLS : 80, &p) < 0)
		return;
	(void)erase();
	room = LINES > (int)p.n_head + 1 ? (size_t)LINES - p.n_head - 1 : 0;
	s->first = cot_top_scroll(&p, chosen, s->first, room);
	for (i = 0; i < p.n_head && y < LINES - 1; i++)
		put_line(s, y++, &p.line[i]);
	for (i = p.n_head + s->first; i + 1 < p.n && y < LINES - 1; i++)
		put_line(s, y++, &p.line[i]);
	put_line(s, LINES - 1, &p.line[p.n - 1]);
	(void)refresh();
	cot_top_picture_destroy(&p);
}

/* ---- what is done ---- */

static void command(struct screen *s, struct cot_msg_command *m)
{
	const struct cot_top_row *r = selected(s);
	struct cot_client client;
	struct cot_error err = {{0}};
	char *text = NULL;
	int rc;

	if (!r)
		return;
	if (r->is_pool)
		(void)snprintf(m->name, sizeof(m->name), "%.*s", (int)sizeof(m->name) - 1, r->name);
	else
		m->tenant = (uint64_t)r->id;
	rc = cot_client_open(&client, false, &err);
	if (!rc)
		rc = cot_client_command(&client, m, &text, &err);
	cot_client_close(&client);
	(void)snprintf(s->message, sizeof(s->message), "%s", rc < 0 ? err.text : text);
	if (rc >= 0)
		free(text);
	look(s);
}

static void change_class(struct screen *s)
{
	const struct cot_top_row *r = selected(s);
	struct cot_msg_command m = {.what = COT_COMMAND_SET, .fields = COT_SET_CLASS};

	if (!r || r->is_pool)
		return;
	m.class_ = (uint8_t)(r->is_latency ? COT_CLASS_BATCH : COT_CLASS_LATENCY);
	command(s, &m);
}

static void change_weight(struct screen *s)
{
	struct cot_msg_command m = {.what = COT_COMMAND_SET, .fields = COT_SET_WEIGHT};
	uint64_t weight;

	if (!cot_number_u64(s->typed, &weight) || !weight || weight > COT_WEIGHT_MAX) {
		(void)snprintf(s->message, sizeof(s->message),
			       "A weight is a whole number from 1 to %u.", COT_WEIGHT_MAX);
		return;
	}
	m.weight = (uint16_t)weight;
	command(s, &m);
}

static void select_next(struct screen *s, int by)
{
	size_t i, n = s->rows.n;

	for (i = 0; i < n; i++)
		if (s->rows.row[i].id == s->wish->view.selected)
			break;
	if (by < 0 && i > 0)
		i--;
	if (by > 0 && i + 1 < n)
		i++;
	if (i < n)
		s->wish->view.selected = s->rows.row[i].id;
}

/* ---- keys ---- */

static void finish_typing(struct screen *s)
{
	enum question question = s->question;

	s->question = NO_QUESTION;
	if (question == ASK_WEIGHT)
		change_weight(s);
	else
		(void)snprintf(s->wish->view.filter, sizeof(s->wish->view.filter), "%s", s->typed);
	arrange(s);
}

static void answer(struct screen *s, int key)
{
	struct cot_msg_command freeze = {.what = COT_COMMAND_FREEZE};
	size_t n = strlen(s->typed);

	if (s->question == ASK_FREEZE) {
		s->question = NO_QUESTION;
		if (key == 'y')
			command(s, &freeze);
	} else if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		finish_typing(s);
	} else if (key == 27) {
		s->question = NO_QUESTION;
	} else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && n) {
		s->typed[n - 1] = '\0';
	} else if (key >= ' ' && key < 127 && n + 1 < sizeof(s->typed)) {
		s->typed[n] = (char)key;
		s->typed[n + 1] = '\0';
	}
}

static void ask(struct screen *s, enum question question)
{
	const struct cot_top_row *r = selected(s);

	if (question != ASK_FILTER && (!r || (question == ASK_WEIGHT && r->is_pool)))
		return;
	s->question = question;
	s->typed[0] = '\0';
}

static void press(struct screen *s, int key)
{
	struct cot_msg_command thaw = {.what = COT_COMMAND_THAW};
	struct cot_top_view *view = &s->wish->view;

	s->message[0] = '\0';
	switch (key) {
	case 'q':
		s->over = true;
		break;
	case 'f':
		ask(s, ASK_FREEZE);
		break;
	case 't':
		command(s, &thaw);
		break;
	case 'c':
		change_class(s);
		break;
	case 'w':
		ask(s, ASK_WEIGHT);
		break;
	case '/':
		ask(s, ASK_FILTER);
		break;
	case 's':
		view->sort = (view->sort + 1) % COT_TOP_N_SORTS;
		arrange(s);
		break;
	case 'r':
		view->reverse = !view->reverse;
		arrange(s);
		break;
	case KEY_UP:
	case 'k':
		select_next(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		select_next(s, 1);
		break;
	default:
		break;
	}
}

/* ---- life ---- */

static void begin_colours(struct screen *s)
{
	s->colours = cot_cli_has_colour() && has_colors();
	if (!s->colours)
		return;
	(void)start_color();
	(void)use_default_colors();
	(void)init_pair(1, COLOR_RED, -1);
	(void)init_pair(2, COLOR_CYAN, -1);
}

static void loop(struct screen *s)
{
	unsigned waited_ms = s->wish->interval_ms;

	while (!s->over && !cot_cli_interrupted()) {
		int key;

		if (waited_ms >= s->wish->interval_ms) {
			look(s);
			draw(s);
			waited_ms = 0;
		}
		key = getch();
		if (key == ERR) {
			waited_ms += TICK_MS;
			continue;
		}
		/* Another size of the terminal is no answer. */
		if (s->question && key != KEY_RESIZE)
			answer(s, key);
		else if (!s->question)
			press(s, key);
		draw(s);
	}
}

int cot_top_interact(struct cot_top_wish *wish)
{
	struct screen s = {.wish = wish};
	SCREEN *terminal;

	(void)setlocale(LC_CTYPE, "");
	cot_cli_catch_signals();
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal) {
		cot_cli_complain(
			"the terminal is not known here (TERM); cotenant top --once prints one picture");
		return COT_EXIT_FAILURE;
	}
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)curs_set(0);
	(void)keypad(stdscr, true);
	(void)set_escdelay(25);
	begin_colours(&s);
	timeout(TICK_MS);
	loop(&s);
	(void)endwin();
	delscreen(terminal);
	cot_top_rows_destroy(&s.rows);
	json_decref(s.stats);
	return cot_cli_interrupted() ? COT_EXIT_INTERRUPTED : COT_EXIT_OK;
}
