// Memory that is free inside of this process, and given back to the system.
#pragma once
#include <cstdint>
#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Give back all that is free but ``keep`` bytes; whether there was any (0 where the C library cannot tell).
inline int64_t give_back(int64_t keep) {
#ifdef __GLIBC__
    return malloc_trim(static_cast<size_t>(keep));
#else
    static_cast<void>(keep);
    return 0;
#endif
}
