/* SPDX-License-Identifier: MIT */
#ifndef TEST_POOL_H
#define TEST_POOL_H

/*
 * A runtime for a test, and its end.
 */
#include "test.h"

#include <heist/runtime.h>

static inline heist_runtime *pool_start(unsigned workers,
                                        heist_exposure exposure)
{
    heist_runtime *rt = NULL;
    heist_config config = {
        .workers = workers, .exposure = exposure, .seed = test_seed};
    CHECK_EQ(heist_start(&rt, &config), 0);
    return rt;
}

static inline void pool_stop(heist_runtime *rt)
{
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

#endif
