// SPDX-License-Identifier: MIT
// Two tasks of one worker, each of which waits while it handles an exception of its
// own; they go on in the order in which they began.
#include <heist.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

static heist_latch begun, go_on[2];

static void need(bool holds)
{
    if (!holds) std::abort();
}

static int wait_in_catch(heist_ctx, void *arg)
{
    heist_latch *latch = static_cast<heist_latch *>(arg);
    std::string mine = "exception " + std::to_string(latch - go_on) +
                       ", long enough not to fit into the string itself";
    try {
        throw std::runtime_error(mine);
    } catch (const std::exception &e) {
        heist_latch_arrive(&begun);
        need(heist_latch_wait(latch, HEIST_FOREVER) == 0);
        need(mine == e.what());
        try {
            throw;
        } catch (const std::runtime_error &again) {
            need(mine == again.what());
        }
    }
    need(std::uncaught_exceptions() == 0);
    need(std::current_exception() == nullptr);
    return 0;
}

int main()
{
    heist_runtime *rt = nullptr;
    heist_config config = {};
    config.workers = 1;
    need(heist_start(&rt, &config) == 0);
    heist_latch_init(&begun, 2);
    heist_scope scope;
    heist_scope_open(&scope, rt);
    for (heist_latch &latch : go_on) {
        heist_latch_init(&latch, 1);
        heist_scope_spawn(&scope, wait_in_catch, &latch);
    }
    need(heist_latch_wait(&begun, HEIST_FOREVER) == 0);
    for (heist_latch &latch : go_on)
        heist_latch_arrive(&latch);
    need(heist_scope_close(&scope, HEIST_FOREVER) == 0);
    return heist_stop(rt, HEIST_FOREVER);
}
