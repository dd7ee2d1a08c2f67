# SPDX-License-Identifier: MIT
# Toolchain: Debian's cross compiler, the tests under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

find_program(HEIST_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
set(HEIST_LAUNCHER ${HEIST_QEMU} -L /usr/aarch64-linux-gnu
    CACHE STRING "Command that runs a test")
