# SPDX-License-Identifier: MIT
# Every file tests/model/*_model.c is a program that checks the shipped sources
# in all orders within bounds, and a test with the label model.  The sources
# are compiled once more, against the checker's <heist/atomic.h> and platform.

# Where src/ and include/ are taken from: a weakened copy, to see it fail.
set(HEIST_MODEL_SOURCE ${CMAKE_CURRENT_SOURCE_DIR} CACHE PATH
    "The tree whose src/ and include/ the model tests check")

# It brings its own instrumentation; another tool would watch the checker.
if(CMAKE_CROSSCOMPILING OR HEIST_SANITIZE OR HEIST_LAUNCHER)
  return()
endif()

set(model ${CMAKE_CURRENT_SOURCE_DIR}/tests/model)
set(checked ${HEIST_MODEL_SOURCE})

# The compiler reports plain accesses to functions that the checker defines:
# for that -fsanitize=thread is an option of the compiler only, not of the
# linker.  An allocation that is not used shall happen all the same.  At -O3
# gcc 12 warns of dangling pointers where none are.
set(watched -O2 -fsanitize=thread -fno-builtin-malloc -fno-builtin-calloc
    -fno-builtin-aligned_alloc -fno-builtin-free)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  list(APPEND watched "SHELL:-mllvm -tsan-instrument-func-entry-exit=0")
else()
  list(APPEND watched "SHELL:--param tsan-instrument-func-entry-exit=0")
endif()

# The binding comes first, so that it is the one that is found.
function(heist_model_target target)
  heist_flags(${target})
  target_include_directories(${target} PRIVATE
    ${model}/include ${model} ${checked}/src ${checked}/include)
endfunction()

file(GLOB sources CONFIGURE_DEPENDS
     ${checked}/src/queue/*.c ${checked}/src/core/*.c ${checked}/src/fork/*.c
     ${checked}/src/graph/*.c)
add_library(heist_model_watched OBJECT ${sources})
heist_model_target(heist_model_watched)
target_compile_options(heist_model_watched PRIVATE ${watched})

# What switches stacks is not watched: it works below what C promises.
add_library(heist_model_checker OBJECT
  ${model}/explore.c ${model}/heap.c ${model}/memory.c ${model}/plain.c
  ${model}/platform.c ${model}/snapshot.c ${model}/threads.c ${model}/trace.c
  ${model}/linearize.c
  ${checked}/src/platform/context.c
  ${checked}/src/platform/switch_${processor}.S)
heist_model_target(heist_model_checker)

heist_wraps(allocations ${model}/heap.c)
heist_wraps(copies ${model}/plain.c)

file(GLOB sources CONFIGURE_DEPENDS ${model}/*_model.c)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source}
    $<TARGET_OBJECTS:heist_model_watched> $<TARGET_OBJECTS:heist_model_checker>)
  heist_model_target(${name})
  target_compile_options(${name} PRIVATE ${watched})
  target_link_options(${name} PRIVATE ${allocations} ${copies})
  heist_test(${name} model 600 $<TARGET_FILE:${name}> --quick)
endforeach()
