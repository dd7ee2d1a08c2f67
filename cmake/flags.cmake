# SPDX-License-Identifier: MIT
# The compiler's options for every target of ours.

set(HEIST_WARNINGS -Wall -Wextra -Wpedantic -Wundef -Wshadow -Wconversion)
if(HEIST_WERROR)
  list(APPEND HEIST_WARNINGS -Werror)
endif()

# The whole build or none of it: half a sanitized program finds nothing.
if(HEIST_SANITIZE)
  string(REPLACE ";" "," sanitizers "${HEIST_SANITIZE}")
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
  if(HEIST_TSAN_NO_SYNC)
    add_compile_definitions(HEIST_TSAN_NO_SYNC)
  endif()
endif()

function(heist_flags target)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON
    UNITY_BUILD OFF)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C>:${HEIST_WARNINGS}>)
  if(HEIST_CHECKED)
    target_compile_definitions(${target} PRIVATE HEIST_CHECKED)
  endif()
endfunction()
