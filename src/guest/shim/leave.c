/*
 * A program leaves SMs for which others wait (COT_PLACE_LEAVE): when is the last of it done? Each
 * stream that moves leaves an event behind. One that has not moved yet does so with its next call.
 */
#include "guest/shim/parts.h"

/* A stream in which the program does nothing for so long is no longer waited for. */
#define UNMOVED_NS (100 * COT_NS_PER_MS)
/* The streams of a program that was at home may be known with their next call only. */
#define UNKNOWN_NS (20 * COT_NS_PER_MS)

void cot_shim_stream_note_left(struct cot_shim_stream *s)
{
	CUevent other = s->left;

	s->left = s->event;
	s->event = other; /* made with the next use */
	s->is_going = true;
}

/* With s->pair. */
static bool is_going(struct cot_shim_stream *s)
{
	if (s->is_going && COT_REAL(cuEventQuery)(s->left) != CUDA_ERROR_NOT_READY)
		s->is_going = false;
	return s->is_going;
}

/* Where it has not moved from. The driver is not asked for what is at home: a graph may be recorded
 * there. */
static bool is_done(const struct cot_shim_stream *s, uint32_t at, bool patient)
{
	if (!at)
		return !s->was_used || !patient;
	return COT_REAL(cuStreamQuery)(s->shadows[at]) != CUDA_ERROR_NOT_READY;
}

static bool look(struct cot_shim_stream *s, uint32_t now, bool patient)
{
	uint32_t at;
	bool left;

	pthread_mutex_lock(&s->pair);
	at = atomic_load(&s->at);
	left = !is_going(s) && (at == now || is_done(s, at, patient));
	pthread_mutex_unlock(&s->pair);
	return left;
}

static bool has_left(struct cot_shim_stream *s, uint32_t now)
{
	return look(s, now, true);
}

/* The same; one that has not moved is taken for idle. */
static bool has_left_or_idles(struct cot_shim_stream *s, uint32_t now)
{
	return look(s, now, false);
}

bool cot_shim_parts_have_left(struct cot_shim_parts *p, uint64_t since_ns)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint64_t waited_ns = cot_now_ns() - since_ns;
	bool left;

	if (p->from_home && waited_ns < UNKNOWN_NS)
		return false;
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	left = cot_shim_streams_each(p, waited_ns < UNMOVED_NS ? has_left : has_left_or_idles,
				     atomic_load(&p->now));
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return left;
}
