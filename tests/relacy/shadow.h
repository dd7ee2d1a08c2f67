/* SPDX-License-Identifier: MIT */
#ifndef RELACY_SHADOW_H
#define RELACY_SHADOW_H

/*
 * What relacy knows of a word of shared memory: an atomic and a plain variable
 * for each, found by the word's address.
 *
 * A cell is a word that only atomic operations touch.  A `plain` is a word that
 * looks like an integer to C; the parts of the queues that are plain words
 * (an item of the injector, the mask of an array) are watched for data races
 * when they lie in memory of hi_alloc, and are mere integers elsewhere.
 */
#include <relacy/relacy.hpp>

/* Relacy would have these for itself; the sources do not mean them. */
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno

#include <new>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace relacy
{

typedef unsigned long word;

enum {
    WORDS_MAX = 512, /* in one execution */
    BLOCKS_MAX = 32
};

struct shadow {
    rl::atomic<word> atomic;
    rl::var<word> plain;

    shadow() : plain(0)
    {
        /* Zeroed memory; the zeroing is no point to switch threads at. */
        rl::preemption_disabler alone(rl::ctx());
        atomic(RL_INFO).store(0, rl::mo_relaxed);
    }
};

/* A piece of watched memory: from hi_alloc, or a cell in a test's object. */
struct block {
    char *start;
    size_t bytes;
    shadow *words;
    bool owned; /* hi_alloc's */
    bool dead;  /* freed: kept until the end, to notice who still looks */
};

struct world {
    block blocks[BLOCKS_MAX];
    size_t block_count, word_count;
    alignas(shadow) char words[WORDS_MAX * sizeof(shadow)];
};

inline world &the_world()
{
    static world w;
    return w;
}

inline block *block_add(void *p, size_t bytes, bool owned)
{
    world &w = the_world();
    size_t n = (bytes + sizeof(word) - 1) / sizeof(word);
    if (w.block_count == BLOCKS_MAX || w.word_count + n > WORDS_MAX) abort();
    block *b = &w.blocks[w.block_count++];
    b->start = static_cast<char *>(p);
    b->bytes = bytes;
    b->words = reinterpret_cast<shadow *>(w.words) + w.word_count;
    b->owned = owned;
    b->dead = false;
    w.word_count += n;
    for (size_t i = 0; i < n; i++)
        new (&b->words[i]) shadow();
    return b;
}

inline block *block_find(const void *p)
{
    world &w = the_world();
    const char *at = static_cast<const char *>(p);
    for (size_t i = 0; i < w.block_count; i++) {
        block *b = &w.blocks[i];
        if (at >= b->start && at < b->start + b->bytes) return b;
    }
    return NULL;
}

inline shadow &shadow_in(block *b, const void *p, rl::debug_info_param info)
{
    RL_ASSERT_IMPL(!b->dead, rl::test_result_access_to_freed_memory,
                   "access to freed memory", info);
    return b->words[(static_cast<const char *>(p) - b->start) / sizeof(word)];
}

inline void *block_create(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) abort();
    block_add(p, bytes, true);
    return p;
}

inline void block_kill(void *p, size_t bytes)
{
    block *b = block_find(p);
    RL_ASSERT(b && b->owned && b->start == p && b->bytes == bytes);
    RL_ASSERT_IMPL(!b->dead, rl::test_result_double_free, "freed twice",
                   RL_INFO);
    b->dead = true;
}

/* After an execution that went well; the queues have been finished. */
inline void world_end()
{
    world &w = the_world();
    shadow *words = reinterpret_cast<shadow *>(w.words);
    for (size_t i = 0; i < w.block_count; i++) {
        RL_ASSERT_IMPL(!w.blocks[i].owned || w.blocks[i].dead,
                       rl::test_result_memory_leak, "memory leak", RL_INFO);
        if (w.blocks[i].owned) free(w.blocks[i].start);
    }
    for (size_t i = 0; i < w.word_count; i++)
        words[i].~shadow();
    w.block_count = w.word_count = 0;
}

/* Before an execution: what a failed one has left is forgotten. */
inline void world_begin()
{
    the_world().block_count = the_world().word_count = 0;
}

/* --- plain words ---------------------------------------------------------- */

class plain
{
  public:
    plain() = default;

    plain(word v)
    {
        set(v);
    }

    plain(const plain &other)
    {
        set(other);
    }

    plain &operator=(const plain &other)
    {
        set(other);
        return *this;
    }

    operator word() const
    {
        block *b = block_find(this);
        if (!b) return value;
        return shadow_in(b, this, RL_INFO).plain(RL_INFO);
    }

    word operator++(int)
    {
        word before = *this;
        set(before + 1);
        return before;
    }

  private:
    word value;

    void set(word v)
    {
        block *b = block_find(this);
        if (!b)
            value = v;
        else
            shadow_in(b, this, RL_INFO).plain(RL_INFO) = v;
    }
};

/* --- cells ---------------------------------------------------------------- */

template <typename T> struct cell {
    word place;
    typedef T type;
};

template <typename T> word to_word(T v)
{
    return (word)v;
}

template <typename T> shadow &at(const cell<T> *c, rl::debug_info_param info)
{
    block *b = block_find(c);
    RL_ASSERT_IMPL(b, rl::test_result_unitialized_access, "no such cell", info);
    return shadow_in(b, c, info);
}

template <typename T, typename V>
void init(cell<T> *c, V v, rl::debug_info_param info)
{
    if (!block_find(c)) block_add(c, sizeof *c, false);
    at(c, info).atomic(info).store(to_word((T)v), rl::mo_relaxed);
}

template <typename T>
T load(const cell<T> *c, rl::memory_order order, rl::debug_info_param info)
{
    return (T)at(c, info).atomic(info).load(order);
}

template <typename T, typename V>
void store(cell<T> *c, V v, rl::memory_order order, rl::debug_info_param info)
{
    at(c, info).atomic(info).store(to_word((T)v), order);
}

template <typename T, typename V>
T swap(cell<T> *c, V v, rl::memory_order order, rl::debug_info_param info)
{
    return (T)at(c, info).atomic(info).exchange(to_word((T)v), order);
}

template <typename T, typename V>
bool cas(cell<T> *c, T *expected, V desired, rl::memory_order order,
         rl::debug_info_param info)
{
    word found = to_word(*expected);
    bool done = at(c, info).atomic(info).compare_exchange_strong(
        found, to_word((T)desired), order, rl::mo_relaxed);
    if (!done) *expected = (T)found;
    return done;
}

} /* namespace relacy */

#endif
