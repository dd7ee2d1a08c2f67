/* SPDX-License-Identifier: MIT */
#ifndef HEIST_FUZZ_H
#define HEIST_FUZZ_H

/*
 * A fuzz target does what the bytes of its input say, to the real thing and to
 * a plain model of it, and stops where the two differ.
 *
 * With libFuzzer (clang) the file is complete.  With FUZZ_PLAIN any compiler
 * makes a program of it that tries random inputs:
 *
 *     PROGRAM INPUTS SEED
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(ok) \
    ((ok) ? (void)0 : fuzz_fail(__FILE__, __LINE__, __func__, #ok))

static inline void fuzz_fail(const char *file, int line, const char *function,
                             const char *what)
{
    fprintf(stderr, "%s:%d: %s: not true: %s\n", file, line, function, what);
    abort();
}

/* --- reading the input ------------------------------------------------------ */

typedef struct fuzz_input {
    const uint8_t *next;
    size_t left;
} fuzz_input;

/* Little-endian, and zero after the end. */
static inline uint64_t fuzz_take(fuzz_input *in, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes && in->left; i++, in->left--)
        v |= (uint64_t)*in->next++ << 8 * i;
    return v;
}

/* A number of which the ends of the integers are as likely as all others:
 * a shape, then a few bytes. */
static inline uint64_t fuzz_edge(fuzz_input *in)
{
    uint64_t shape = fuzz_take(in, 1);
    int64_t near = (int64_t)(int8_t)fuzz_take(in, 1);
    switch (shape % 4) {
    case 0: return (uint64_t)near;
    case 1: return ((uint64_t)1 << 63) + (uint64_t)near;
    case 2: return ((uint64_t)1 << (shape / 4)) + (uint64_t)near;
    }
    return fuzz_take(in, 8);
}

/* A target may have an input to begin with. */
__attribute__((weak)) size_t fuzz_sample(const char **bytes);

/* --- without libFuzzer ------------------------------------------------------- */

#ifdef FUZZ_PLAIN

static uint64_t fuzz_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* One byte many times, in the middle of the others. */
static size_t fuzz_stretch(uint8_t *data, size_t n, size_t max, uint64_t *state)
{
    size_t at = fuzz_random(state) % n, by = fuzz_random(state) % (max - n + 1);
    memmove(data + at + by, data + at, n - at);
    memset(data + at, data[at + by], by);
    return n + by;
}

/* Random bytes, or the sample with a few bytes changed. */
static size_t fuzz_make(uint8_t *data, size_t max, uint64_t *state)
{
    const char *sample = NULL;
    size_t n = fuzz_sample ? fuzz_sample(&sample) : 0;
    if (n && n <= max && fuzz_random(state) % 4) {
        memcpy(data, sample, n);
        for (uint64_t i = fuzz_random(state) % 8; i; i--)
            data[fuzz_random(state) % n] = (uint8_t)fuzz_random(state);
        if (fuzz_random(state) % 2) n = fuzz_stretch(data, n, max, state);
        return n;
    }
    n = fuzz_random(state) % max;
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)fuzz_random(state);
    return n;
}

int main(int argc, char **argv)
{
    static uint8_t data[512];
    uint64_t inputs = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    for (uint64_t i = 0; i < inputs; i++) {
        uint64_t state = seed + i;
        LLVMFuzzerTestOneInput(data, fuzz_make(data, sizeof data, &state));
    }
    printf("%llu inputs, seed %llu\n", (unsigned long long)inputs,
           (unsigned long long)seed);
    return 0;
}
#endif

#endif
