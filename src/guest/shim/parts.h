/*
 * Parts: a program on some of a GPU's SMs, and on others a moment later, without its knowledge.
 *
 * The program's contexts stay as they are; its streams are *virtual*. What the program calls a
 * stream, its *home*, has a *shadow* on each part that it has been on: a stream of a green context
 * (cuda/green.h). Every call that takes a stream gets the one where the virtual stream is now. It
 * moves at the program's next call: an event in the stream that it leaves, and a wait for it in the
 * stream that it enters. So everything that the program put in before is done before.
 *
 *     stream.c   virtual streams: moving, and the order of the default stream
 *     stream_table.c   which is which, and where a graph is recorded
 *     primary.c  the GPUs that have parts
 *     part.c     the parts of a GPU: made, chosen by the daemon, given up
 *     graph.c    graphs: an executable one for each part
 *     graph_nodes.c    their nodes
 *     follow.c   launches: there, or where the program put them
 *     pace.c     how many of them may be ahead of the GPU
 *     hold.c     when there may be none
 *     leave.c    when all is done where they went before
 *     copies.c   when copies give way to those of requests
 *     query.c    which of them belong to a request, and which of these have ended
 *     stays.c    kernels that do not follow, and why
 *     waits.c    what a new part must not wait for
 *     queued.c   how long it would wait
 *     timed.c    how long launches take, of a program that is profiled (timed.h)
 *     entry_stream.c, entry_wait.c, entry_graph.c, entry_launch.c    the entry points
 *
 * Shadows do not wait for the default stream, and it does not wait for them: the driver has no
 * others in green contexts. So where a program has streams that do (made without
 * CU_STREAM_NON_BLOCKING), stream.c keeps that order with events.
 *
 * What a call does in a virtual stream is a *turn*. A stream moves only while no other thread has a
 * turn in it: otherwise what that thread is about to enter would be forgotten by the event.
 */
#ifndef COT_GUEST_SHIM_PARTS_H
#define COT_GUEST_SHIM_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "cuda/green.h"
#include "guest/shim/counts.h"
#include "guest/shim/driver.h"
#include "guest/shim/launch.h"
#include "guest/shim/merge.h"
#include "guest/shim/wait.h"
#include "guest/shim/work.h"

#define COT_SHIM_PARTS_MAX 8u /* of a GPU at a time; number 0 is the whole of it */

struct cot_shim_parts;

/* How far a stream's launches are ahead of the GPU; see pace.c. */
struct cot_shim_pace {
	_Atomic int32_t left; /* launches, until the group is complete; <= 0: it is */
	pthread_mutex_t lock; /* for the rest */
	unsigned at;	      /* the group, of two that take turns */
	uint32_t size[2];     /* launches */
	CUevent ends[2];
	bool under_way[2];  /* it is complete, and not known to have ended */
	uint64_t began_ns;  /* when the group did */
	uint64_t launch_ns; /* what a launch takes, on average; 0: not known */
};

/* What the driver says of a stream while no graph is recorded there. */
struct cot_shim_looks {
	CUcontext context;
	unsigned flags;
	int priority;
};

struct cot_shim_stream {
	struct cot_shim_stream *next; /* with the same hash, or of the same thread */
	_Atomic(CUstream) handle;     /* home, as the program names it; NULL: free for another */
	struct cot_shim_parts *parts; /* NULL: its context has none, it stays at home */
	_Atomic bool has_parts;	      /* another thread may give it parts: looked at first */
	struct cot_shim_stream *next_blocking;
	struct cot_shim_looks looks;
	bool blocking; /* the default stream waits for it, and the other way round */
	/* Turns under way, and STREAM_MOVING while a thread moves it: then no turn begins. */
	_Atomic uint32_t n_turns;
	_Atomic uint32_t at; /* number of the part where it is */
	/* The thread that records `event` and has another stream wait for it holds `pair`. */
	pthread_mutex_t pair;
	CUevent event;
	CUevent left;  /* the end of what is where it was, while the daemon waits for that */
	bool is_going; /* it is not known to be over */
	CUstream shadows[COT_SHIM_PARTS_MAX];	      /* [0] is not used */
	_Atomic uint32_t n_stays[COT_SHIM_PARTS_MAX]; /* threads that wait for a shadow: it stays */
	_Atomic bool capturing;			      /* its home is; it stays there */
	_Atomic bool counted;			      /* among the blocking streams that are */
	_Atomic bool dirty;    /* entered since the default stream waited for it */
	_Atomic uint64_t seen; /* parts->n_default, when it last waited for that */
	_Atomic bool used;     /* since the last change of parts */
	bool was_used;	       /* and between that one and the one before; the listener's */
	struct cot_shim_pace pace;
};

struct cot_shim_part {
	uint32_t first_sm, n_sms;
	CUgreenCtx green; /* NULL: not made */
	CUcontext context;
	uint64_t chosen; /* in which change it was chosen last */
};

/* The first order names all of the GPU, where the program is, or a part, where it was not. */
enum cot_shim_first { COT_SHIM_FIRST_UNKNOWN, COT_SHIM_FIRST_ALL, COT_SHIM_FIRST_PART };

/* When copies in one direction give way; see copies.c. */
struct cot_shim_give_way {
	_Atomic uint64_t until_ns; /* while others copy */
	_Atomic uint64_t rest_ns;  /* until then they need not */
};

/* Events behind what is in the streams; see queued.c. The listener's. */
#define COT_SHIM_MARKS_MAX 128u
struct cot_shim_queued {
	CUevent marks[COT_SHIM_MARKS_MAX];
	uint32_t n, n_busy; /* of them; of the streams, a moment after */
	bool has_context;   /* one is behind all that is in the context */
	uint64_t marked_ns; /* 0: none are there */
	uint64_t unseen_ns; /* until then a stream may have work that is not seen */
};

/* The parts of one GPU, in its primary context. Never freed. */
struct cot_shim_parts {
	struct cot_shim_parts *next;
	_Atomic(CUcontext) context; /* NULL: the program has given it up */
	struct cot_shim_gpu *gpu;
	int device;
	uint32_t n_sms;
	bool split_tried;
	bool prepared;	      /* with cot_shim_lock: what is made before the first launch is */
	_Atomic bool awaited; /* that launch waits for it: nothing is queued */
	int status;	      /* 0: there is a split; -errno */
	struct cot_green green;
	struct cot_green_split split;
	struct cot_shim_part part[COT_SHIM_PARTS_MAX];
	_Atomic uint32_t now;	  /* where streams are to be */
	_Atomic uint32_t first;	  /* enum cot_shim_first: what the daemon wanted first */
	_Atomic uint64_t n_early; /* launches before, of a program without a limit */
	_Atomic uint64_t pace_ns; /* 0: launches are not held back */
	uint32_t pace_us;	  /* what the daemon wants */
	struct cot_shim_give_way give_way[COT_WAYS];
	_Atomic uint64_t hold_until_ns; /* 0: no launch waits for the daemon */
	_Atomic bool leaving;		/* the daemon waits for the end of what is elsewhere */
	bool from_home;			/* before the last change it was there; the listener's */
	uint64_t n_changes;
	uint64_t make_ns;  /* when the next part may be made */
	uint64_t again_ns; /* when to look whether the one that is wished for can be */
	struct cot_shim_queued queued;
	pthread_mutex_t lock; /* for the list of blocking streams */
	struct cot_shim_stream default_stream;
	struct cot_shim_stream *blocking;
	_Atomic uint32_t n_blocking;
	_Atomic uint64_t n_default; /* turns in the default stream */
	_Atomic bool
		has_unknown; /* streams that wait for it and that we do not know: it stays home */
};

/* Whether streams are virtual: from the first change of parts on. Each launch looks at it once. */
enum {
	COT_SHIM_PLAIN,
	COT_SHIM_LIVE,
	COT_SHIM_WATCHED /* launches may have to wait, or are tasks of queries */
};
extern _Atomic uint32_t cot_shim_parts_live;

/* ---- stream.c ---- */

struct cot_shim_turn {
	struct cot_shim_stream *stream; /* NULL: it is not virtual */
	bool visit;			/* at home, while the stream is elsewhere */
	bool live;			/* streams were virtual when it began */
	bool strays;			/* the stream could not be moved to where it is to be */
};

/*
 * Begins a turn; returns the driver's stream for it: `stream` itself where that is at home. A
 * launch goes to the part (cot_shim_turn_enter_part()), and workers are at home; the stream is
 * there then. Where there are no workers all other calls go to the part, too. In a program with
 * workers they are wherever the stream is: so a stream with nothing but workers is never moved to
 * and fro.
 */
CUstream cot_shim_turn_enter(struct cot_shim_turn *t, CUstream stream, bool per_thread);
CUstream cot_shim_turn_enter_part(struct cot_shim_turn *t, CUstream stream, bool per_thread);
void cot_shim_turn_enter_home(struct cot_shim_turn *t, CUstream stream, bool per_thread);
/* The same for what must be at home: what is in the shadow comes before it. */
CUstream cot_shim_turn_visit(struct cot_shim_turn *t, CUstream stream, bool per_thread);
/* Within a turn that was entered: what follows is at home. */
void cot_shim_turn_go_home(struct cot_shim_turn *t);
/* The call has returned. What it entered at home comes before all that follows. */
void cot_shim_turn_leave(struct cot_shim_turn *t);

static inline bool cot_shim_turn_is_needed(struct cot_shim_turn *t)
{
	t->stream = NULL;
	t->visit = t->strays = false;
	t->live = atomic_load_explicit(&cot_shim_parts_live, memory_order_relaxed);
	return COT_UNLIKELY(t->live);
}

static inline CUstream cot_shim_turn_begin_for(struct cot_shim_turn *t, CUstream stream,
					       bool per_thread, bool ends)
{
	cot_shim_merge_before(stream, per_thread, ends);
	return cot_shim_turn_is_needed(t) ? cot_shim_turn_enter(t, stream, per_thread) : stream;
}

/* What is put in may wait for the program; or it ends by itself. */
static inline CUstream cot_shim_turn_begin(struct cot_shim_turn *t, CUstream stream,
					   bool per_thread)
{
	return cot_shim_turn_begin_for(t, stream, per_thread, false);
}

static inline CUstream cot_shim_turn_begin_ending(struct cot_shim_turn *t, CUstream stream,
						  bool per_thread)
{
	return cot_shim_turn_begin_for(t, stream, per_thread, true);
}

static inline CUstream cot_shim_turn_begin_launch(struct cot_shim_turn *t, CUstream stream,
						  bool per_thread)
{
	cot_shim_merge_before(stream, per_thread, false);
	return cot_shim_turn_is_needed(t) ? cot_shim_turn_enter_part(t, stream, per_thread)
					  : stream;
}

/* The stream of the turn is `stream` itself. */
static inline void cot_shim_turn_begin_workers(struct cot_shim_turn *t, CUstream stream,
					       bool per_thread)
{
	if (cot_shim_turn_is_needed(t))
		cot_shim_turn_enter_home(t, stream, per_thread);
}

static inline void cot_shim_turn_end(struct cot_shim_turn *t)
{
	if (COT_UNLIKELY(t->stream != NULL))
		cot_shim_turn_leave(t);
}

/* While a thread waits for a stream that may move, but where the thread waits goes on. */
struct cot_shim_stay {
	struct cot_shim_stream *stream; /* NULL: at home */
	uint32_t part;
};

CUstream cot_shim_stay_begin(struct cot_shim_stay *stay, CUstream stream, bool per_thread);
void cot_shim_stay_end(struct cot_shim_stay *stay);

/* The driver's stream where this turn is. */
static inline CUstream cot_shim_turn_in(const struct cot_shim_turn *t)
{
	const struct cot_shim_stream *s = t->stream;
	uint32_t at = t->visit ? 0 : atomic_load(&s->at);

	return at ? s->shadows[at] : atomic_load(&s->handle);
}

/* The part where this turn is: 0 is home. */
uint32_t cot_shim_turn_part(const struct cot_shim_turn *t);

/* There is no memory to know this stream of `p`, which waits for the default stream. */
void cot_shim_stream_unknown(struct cot_shim_parts *p, CUstream stream);
/* Moves every stream that can be moved away from this part, and drops its shadows there; whether
 * none is left. On a thread of ours. */
bool cot_shim_streams_clear(struct cot_shim_parts *p, uint32_t part);
/* Makes the shadows, on this part, of the streams that were used since the last change. */
void cot_shim_streams_prepare(struct cot_shim_parts *p, uint32_t part);
/* Calls cot_shim_queued_mark() for each, or cot_shim_queued_unseen() once. False: not now. */
bool cot_shim_streams_mark(struct cot_shim_parts *p);
void cot_shim_streams_drop(struct cot_shim_parts *p); /* its context ends */
void cot_shim_streams_forget(void);		      /* after fork() */
/* Applied to home already: the shadows get the same. */
void cot_shim_stream_attribute(CUstream stream, bool per_thread, int what,
			       const CUlaunchAttributeValue *value);

/* ---- stream_table.c ---- */

/* A capture is about to begin in this stream: it is looked at now, since a look at a stream that
 * captures spoils the capture. It has begun there; a capture has ended. */
void cot_shim_stream_will_capture(CUstream stream, bool per_thread);
void cot_shim_stream_captures(CUstream stream, bool per_thread);
void cot_shim_stream_captured(CUresult rc); /* of cuStreamEndCapture() */
/* After cuStreamWaitEvent() in a turn: the event may have brought a capture along. */
void cot_shim_stream_look_for_capture(struct cot_shim_turn *t);
bool cot_shim_any_capture(void);

/* Around the driver's call that begins one and cot_shim_stream_captures(): nobody is between asking
 * whether there is a capture and doing what would spoil it. */
void cot_shim_capture_begin(void);
void cot_shim_capture_begun(void);
/* Before what would spoil a capture, in whichever stream and thread; no capture begins until
 * cot_shim_let_captures(). False: one is under way, or begins. Never waits. */
bool cot_shim_hold_off_captures(void);
/* Those that are under way may go on. */
bool cot_shim_hold_off_beginning(void);
/* The same for those in streams that the default stream waits for. While one begins, of which
 * that is not known yet, it waits: for a call of the driver. */
bool cot_shim_hold_off_blocking_captures(void);
void cot_shim_let_captures(void);

/* NULL: it is not virtual, and stays at home. */
struct cot_shim_stream *cot_shim_stream_find(CUstream stream, bool per_thread);
/* This context has parts from now on: its streams that were known as without are virtual, too. */
void cot_shim_streams_join(struct cot_shim_parts *p);
/* The program destroys it. */
void cot_shim_stream_end(CUstream stream);

typedef bool cot_shim_stream_visitor(struct cot_shim_stream *s, uint32_t part);

/* Whether `visit` returned true for all streams of these parts. */
bool cot_shim_streams_each(struct cot_shim_parts *p, cot_shim_stream_visitor *visit, uint32_t part);

/* Whether it is some thread's default stream. */
static inline bool cot_shim_stream_is_of_thread(const struct cot_shim_stream *s)
{
	return atomic_load(&s->handle) == CU_STREAM_PER_THREAD;
}

void cot_shim_stream_drop_shadows(struct cot_shim_stream *s);
/* It has no shadows, event and parts any longer. */
void cot_shim_stream_free(struct cot_shim_stream *s);
void cot_shim_stream_table_forget(void); /* after fork() */

/* ---- primary.c ---- */

/* Held while contexts are looked at and given up, while parts are made, and around calls that have
 * the GPU wait for what comes later; taken before cot_shim_lock. */
extern struct cot_shim_gate cot_shim_parts_lock;
/* The context that was looked at last, whether it has parts or not. */
extern _Atomic(CUcontext) cot_shim_parts_looked;

struct cot_shim_parts *cot_shim_parts_first(void);
struct cot_shim_parts *cot_shim_parts_of(CUcontext context); /* NULL: it has none */
struct cot_shim_parts *cot_shim_parts_current(void);
bool cot_shim_is_primary(CUcontext context, int device);
/* One of that context, whichever is current: it can be recorded in no other's streams. NULL: there
 * is no memory for it. */
CUevent cot_shim_parts_event(const struct cot_shim_parts *p);
CUevent cot_shim_parts_timed_event(const struct cot_shim_parts *p); /* it says when it passed */
/* Waits for what is in it: our last resort. Another thread may be recording a graph, which such a
 * wait would spoil. */
void cot_shim_await_stream(CUstream stream);
/* With cot_shim_parts_lock. NULL: there can be no more. */
struct cot_shim_parts *cot_shim_parts_add(CUcontext context, int device, uint32_t n_sms);
void cot_shim_parts_clear(void); /* after fork() */

/* ---- part.c ---- */

/* On the listener, with cot_shim_lock, which it lets go of: carries wishes out and answers. Returns
 * when there is more to do, though nothing new comes. */
uint64_t cot_shim_parts_carry_out(void);
/* The program is about to give up this GPU's primary context. */
void cot_shim_parts_close(int device);
void cot_shim_parts_forget(void); /* after fork() */

/* ---- leave.c ---- */

/* Whether nothing that the program launched is under way on other parts than that of now, as far as
 * it can be known, `since_ns` after the change. On the listener, with p->context current. */
bool cot_shim_parts_have_left(struct cot_shim_parts *p, uint64_t since_ns);
/* With s->pair: its event was recorded where it is no longer. */
void cot_shim_stream_note_left(struct cot_shim_stream *s);

/* ---- stays.c ---- */

/* NULL: it has none. The function may be a CUkernel: cuLaunchKernel() takes these, too. */
const char *cot_shim_name_of(CUfunction function);
/* Whether this function's kernels stay where the program put them: the name says so. */
bool cot_shim_stays(CUfunction function, enum cot_shim_why *ret_why);
/* Functions may have been unloaded: another may get a handle. */
void cot_shim_stays_forget(void);
/* Whether a graph is being recorded in this stream, which need not be virtual. */
bool cot_shim_is_captured(CUstream stream, bool per_thread);
/* The daemon has named a part, or all of the GPU, for the first time. */
void cot_shim_count_first(struct cot_shim_parts *p, bool part);
/* A launch in a turn that is at home: there it should be, if the stream is virtual and the daemon
 * has said so. */
void cot_shim_count_at_home(const struct cot_shim_turn *turn, CUstream stream, bool per_thread);

/* ---- waits.c ---- */

struct cot_shim_open {
	bool asked, held;
};

/* With parts, around a call that has a stream wait for a word in memory, or for others; the second
 * in its turn.
 */
void cot_shim_open_begin(struct cot_shim_open *o);
void cot_shim_open_end(struct cot_shim_open *o, const struct cot_shim_turn *t, CUstream stream,
		       bool per_thread, bool failed);
/* There is one in a graph. */
void cot_shim_open_for_good(void);
/* With cot_shim_parts_lock: no such wait is open. */
bool cot_shim_open_none(void);
void cot_shim_open_drop(const struct cot_shim_parts *p); /* its context ends */
void cot_shim_open_forget(void);			 /* after fork() */

/* ---- queued.c ---- */

/* On the listener, with the context current. 0: a part can be made now, and if the program can wait
 * for it, on another one, without holding it up; else when to look again. */
uint64_t cot_shim_queued_look(struct cot_shim_parts *p, uint64_t since_ns, bool can_wait);
void cot_shim_queued_mark(struct cot_shim_parts *p, CUstream stream);
void cot_shim_queued_unseen(struct cot_shim_parts *p);
void cot_shim_queued_drop(struct cot_shim_parts *p); /* its context ends */

/* ---- follow.c ---- */

/* Before a launch, not in a turn: the first one on a GPU makes it known to the daemon, and waits
 * until likely parts are made, and for its own where there is to be one. Whether it has waited. */
bool cot_shim_part_expect(void);
/* A launch, on the part if it follows. The driver's result. */
int cot_shim_part_launch(const struct cot_shim_original *o);

/* ---- pace.c ---- */

/* With cot_shim_parts_lock: what the daemon wants; 0: no pace. */
void cot_shim_pace_set(struct cot_shim_parts *p, uint32_t pace_us);
/* Before a launch in this stream, not in a turn: it may take a while. NULL: it is not virtual. */
void cot_shim_pace_wait(struct cot_shim_stream *s);
/* After it, in its turn. */
void cot_shim_pace_launched(const struct cot_shim_turn *t);
void cot_shim_pace_end(struct cot_shim_stream *s);

/* ---- hold.c ---- */

/* What is launched from now on waits until then, at most; 0: nothing does. */
void cot_shim_hold_set(struct cot_shim_parts *p, uint64_t until_ns);
/* Before a launch in this stream, not in a turn: it may take a while. NULL: it is not virtual. */
void cot_shim_hold_wait(struct cot_shim_stream *s);

/* ---- copies.c ---- */

/* Whether the daemon has ever said that copies are to give way. */
extern _Atomic bool cot_shim_copies_on;

/* With cot_shim_lock: it says so; 0: they need not any longer. */
void cot_shim_copies_set(const struct cot_shim_gpu *g, uint32_t way, uint64_t for_ns);
/* How many of these bytes to copy now, not in a turn: it may take a while. */
size_t cot_shim_copy_piece(size_t bytes, uint32_t way, CUstream stream, bool per_thread);
static inline size_t cot_shim_copy_next(size_t bytes, uint32_t way, CUstream stream,
					bool per_thread)
{
	if (COT_LIKELY(!atomic_load_explicit(&cot_shim_copies_on, memory_order_relaxed)))
		return bytes;
	return cot_shim_copy_piece(bytes, way, stream, per_thread);
}

/* ---- graph.c ---- */

void cot_shim_graph_made(CUgraphExec exec, CUgraph graph, unsigned long long flags);
void cot_shim_graph_changed(CUgraphExec exec, CUgraph graph); /* it was updated with this one */

/* Does to the clone's node what was done to the program's; false: it cannot be. */
typedef bool cot_shim_node_setter(CUgraphNode node, const void *params);

/* One of its nodes was changed, switched on or off. */
void cot_shim_graph_node_changed(CUgraphExec exec, CUgraphNode node, cot_shim_node_setter *set,
				 const void *params);
void cot_shim_graph_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled);
void cot_shim_graph_gone(CUgraphExec exec);
CUresult cot_shim_graph_launch(CUgraphExec exec, CUstream stream, bool per_thread);
/* The program destroys this stream, in which graphs may run. */
void cot_shim_graphs_leave(CUstream stream);
void cot_shim_graphs_clear(const struct cot_shim_parts *p, uint32_t part);
void cot_shim_graphs_forget(void); /* after fork() */

/* ---- graph_nodes.c ---- */

/* Puts a node's kernel, or all of a graph's, on the part with this context; false: they cannot be,
 * and some may have been. */
bool cot_shim_node_place(CUgraphNode node, CUcontext context);
bool cot_shim_nodes_place(CUgraph graph, CUcontext context);
/* Whether one of its nodes waits for a word in memory, or for others. */
bool cot_shim_nodes_wait(CUgraph graph);
/* The node of this clone, or of a graph in it, that is made of this one; NULL: there is none. */
CUgraphNode cot_shim_nodes_find(CUgraph clone, CUgraphNode node);
/* The nodes of this one's child graph do from now on what those of a graph of its shape do. */
bool cot_shim_node_set_child(CUgraphNode node, CUgraph graph);

/* ---- query.c ---- */

/* Whether the daemon wants to hear of queries. */
extern _Atomic bool cot_shim_queries_on;

/* With cot_shim_lock: it may have changed for a GPU. */
void cot_shim_query_want(void);
/* Before a launch in this stream: it is the first of a query, maybe. NULL: it is not virtual. Where
 * the call takes long the daemon hears of that before it. */
void cot_shim_query_begin(const struct cot_shim_stream *s, bool takes_long);
/* After it, in its turn. */
void cot_shim_query_launched(const struct cot_shim_turn *t);
/* A copy between the GPU and the host, before the call. */
void cot_shim_query_copied(size_t bytes, uint32_t way);
/* A burst is over, or nobody can tell: so is the query, unless the program marks requests. */
void cot_shim_query_burst_over(uint64_t now_ns);
/* With cot_shim_lock: looks which tasks have ended; returns when to come again. */
uint64_t cot_shim_query_look(uint64_t now_ns);
void cot_shim_query_drop(const struct cot_shim_parts *p); /* its context ends */
void cot_shim_query_forget(void);			  /* after fork() */

static inline void cot_shim_query_copy(size_t bytes, uint32_t way)
{
	if (COT_UNLIKELY(atomic_load_explicit(&cot_shim_queries_on, memory_order_relaxed)))
		cot_shim_query_copied(bytes, way);
}

/* ---- around a launch ---- */

/* Before it, not in a turn: it may take a while. What cot_shim_parts_live was. */
static inline uint32_t cot_shim_launch_begin(CUstream stream, bool per_thread, bool takes_long)
{
	uint32_t live = atomic_load_explicit(&cot_shim_parts_live, memory_order_relaxed);

	if (COT_UNLIKELY(live == COT_SHIM_WATCHED)) {
		struct cot_shim_stream *s = cot_shim_stream_find(stream, per_thread);

		cot_shim_query_begin(s, takes_long);
		cot_shim_pace_wait(s);
		cot_shim_hold_wait(s); /* last: the daemon may have ordered it meanwhile */
	}
	return live;
}

/* After it, in its turn. */
static inline void cot_shim_launch_end(uint32_t live, const struct cot_shim_turn *t, CUresult rc)
{
	if (COT_UNLIKELY(live == COT_SHIM_WATCHED) && t->stream && !rc) {
		cot_shim_pace_launched(t);
		cot_shim_query_launched(t);
	}
}

#endif
