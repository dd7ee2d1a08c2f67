/* SPDX-License-Identifier: MIT
 *
 * thread.c: threads of the operating system, and what belongs to one.
 */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_BYTES = 16, /* the kernel's limit, with the final zero */
    /* Sanitizers and the program's own thread-local data live there, too. */
    STACK_LEAST = 256 * 1024
};

/* --- start and join ------------------------------------------------------ */

/* What the new thread needs to know; it frees it. */
typedef struct start {
    void (*fn)(void *arg);
    void *arg;
    char name[NAME_BYTES];
} start;

static void *thread_main(void *p)
{
    start s = *(start *)p;
    free(p);
    if (s.name[0]) pthread_setname_np(pthread_self(), s.name);
    s.fn(s.arg);
    return NULL;
}

/* All but the signals that a thread's own instructions raise: blocked, those
 * would kill the process instead of reaching their handler. */
static void fill_mask(sigset_t *set)
{
    static const int own[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                              SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(set, own[i]);
}

/* Whole pages, and enough of them. */
static size_t stack_size(size_t bytes)
{
    size_t page = hi_page_size();
    size_t least = (size_t)PTHREAD_STACK_MIN + STACK_LEAST;
    if (bytes < least) bytes = least;
    return bytes > SIZE_MAX - page ? bytes : (bytes + page - 1) / page * page;
}

/* Zero asks for the usual stack of the system. */
static int create(pthread_t *id, start *s, size_t stack_bytes)
{
    pthread_attr_t attr;
    size_t usual = 0;
    size_t bytes = stack_bytes ? stack_size(stack_bytes) : 0;
    if (pthread_attr_init(&attr)) return ENOMEM;
    pthread_attr_getstacksize(&attr, &usual);
    if (bytes) pthread_attr_setstacksize(&attr, bytes);
    int rc = pthread_create(id, &attr, thread_main, s);
    pthread_attr_destroy(&attr);
    /* The program's thread-local data did not fit: then as any other thread. */
    if (rc == EINVAL && bytes < usual)
        rc = pthread_create(id, NULL, thread_main, s);
    return rc;
}

int hi_thread_start(hi_thread *t, void (*fn)(void *arg), void *arg,
                    const char *name, size_t stack_bytes)
{
    int saved = errno;
    start *s = malloc(sizeof *s);
    errno = saved;
    if (!s) return -ENOMEM;
    *s = (start){.fn = fn, .arg = arg};
    if (name) strncpy(s->name, name, sizeof s->name - 1);

    /* A new thread inherits the mask: set here, no signal finds a gap. */
    sigset_t block, before;
    fill_mask(&block);
    pthread_sigmask(SIG_SETMASK, &block, &before);
    pthread_t id;
    int rc = create(&id, s, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;

    if (rc) {
        free(s);
        return rc == ENOMEM ? -ENOMEM : -EAGAIN;
    }
    t->handle = (uintptr_t)id;
    return 0;
}

void hi_thread_join(hi_thread t)
{
    int before; /* a stop that ended here could not be repeated */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_join((pthread_t)t.handle, NULL);
    pthread_setcancelstate(before, &before);
}

void hi_thread_yield(void)
{
    sched_yield();
}

/* --- the thread's own pointer --------------------------------------------- */

/* Initial-exec: one load, and no call that might allocate. */
static __thread void *self __attribute__((tls_model("initial-exec")));

/* The empty assembly keeps a compiler that sees across files from deciding
 * that two calls give the same answer. */
__attribute__((noinline)) HI_HOT void *hi_self_get(void)
{
    __asm__ __volatile__("" ::: "memory");
    return self;
}

__attribute__((noinline)) void hi_self_set(void *p)
{
    self = p;
    __asm__ __volatile__("" ::: "memory");
}

/* The C++ library's, as its ABI describes it; not there in C programs. */
typedef struct cxa_globals {
    void *caught;
    unsigned uncaught;
} cxa_globals;

cxa_globals *__cxa_get_globals(void) __attribute__((weak));

__attribute__((noinline)) void hi_thread_state_take(hi_thread_state *s)
{
    __asm__ __volatile__("" ::: "memory");
    *s = (hi_thread_state){.error = errno};
    if (!__cxa_get_globals) return;
    cxa_globals *g = __cxa_get_globals();
    s->caught = g->caught;
    s->uncaught = g->uncaught;
    g->caught = NULL;
    g->uncaught = 0;
}

__attribute__((noinline)) void hi_thread_state_put(const hi_thread_state *s)
{
    errno = s->error;
    if (__cxa_get_globals)
        *__cxa_get_globals() = (cxa_globals){s->caught, s->uncaught};
    __asm__ __volatile__("" ::: "memory");
}

/* --- the end of a thread, the child of a fork ------------------------------ */

typedef struct exit_call {
    void (*fn)(void *arg);
    void *arg;
} exit_call;

static __thread exit_call at_exit;
static pthread_key_t exit_key;
static bool exit_key_made;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void run_exit_call(void *p)
{
    exit_call *call = p;
    call->fn(call->arg);
}

static void make_exit_key(void)
{
    exit_key_made = pthread_key_create(&exit_key, run_exit_call) == 0;
}

void hi_thread_at_exit(void (*fn)(void *arg), void *arg)
{
    pthread_once(&exit_once, make_exit_key);
    if (!exit_key_made) return;
    at_exit = (exit_call){fn, arg};
    pthread_setspecific(exit_key, &at_exit);
}

int hi_watch_forks(hi_at_fork *what)
{
    if (heist_load_relaxed(&what->told)) return 0; /* relaxed: hint */
    if (pthread_atfork(NULL, NULL, what->child)) return -ENOMEM;
    heist_store_relaxed(&what->told, 1); /* relaxed: hint */
    return 0;
}
