# SPDX-License-Identifier: MIT
# Nets beside the tests.  tests/exhaustive/*_exhaustive.c: arithmetic, all of it
# under UBSan; tests/fuzz/*_fuzz.c: the fuzz targets with a few random inputs
# (tests/fuzz/run is for more).  Both include sources of the library to reach
# what is static; the archive gives the rest.

set(HEIST_FUZZ_INPUTS 5000 CACHE STRING "Random inputs per fuzz target")

foreach(kind exhaustive fuzz)
  file(GLOB sources CONFIGURE_DEPENDS tests/${kind}/*_${kind}.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    heist_flags(${name})
    target_include_directories(${name} PRIVATE src)
    target_link_libraries(${name} PRIVATE heist_static)
    if(kind STREQUAL "exhaustive")
      target_compile_options(${name} PRIVATE
        -fsanitize=undefined -fno-sanitize-recover=all)
      target_link_options(${name} PRIVATE -fsanitize=undefined)
      heist_test(${name} ${kind} 60 $<TARGET_FILE:${name}>)
    else()
      target_compile_definitions(${name} PRIVATE FUZZ_PLAIN)
      heist_test(${name} ${kind} 60 $<TARGET_FILE:${name}>
        ${HEIST_FUZZ_INPUTS} 1)
    endif()
  endforeach()
endforeach()
