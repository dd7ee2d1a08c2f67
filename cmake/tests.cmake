# SPDX-License-Identifier: MIT
# Every file tests/KIND/*_KIND.c is a program and a test with the label KIND
# (unit tests end in _test).  Exit status 77 means skipped.

# They begin first, so that none is left over at the end.
set(long_tests strand_regress uts_regress size_regress huge_stress arrays_stress
  cli_test flow_model fork_model guest_model sort_test stable_test examine_test
  transform_test pipeline_test)

# A time-out only ends what hangs: many times what the test takes.
function(heist_test name kind seconds)
  add_test(NAME ${name} COMMAND ${HEIST_LAUNCHER} ${ARGN})
  math(EXPR timeout "${seconds} * ${HEIST_SLOWNESS}")
  set_tests_properties(${name} PROPERTIES
    LABELS ${kind} SKIP_RETURN_CODE 77 TIMEOUT ${timeout})
  if(name IN_LIST long_tests)
    set_tests_properties(${name} PROPERTIES COST 1000)
  endif()
endfunction()

# Under valgrind the programs contain tests/memcheck.c, which says why.
if(HEIST_LAUNCHER MATCHES "valgrind")
  add_library(heist_memcheck OBJECT tests/memcheck.c)
  heist_flags(heist_memcheck)
  target_include_directories(heist_memcheck PRIVATE include src)
endif()

# The target tests_KIND is all programs of that kind.
function(heist_test_program name source kind seconds)
  add_executable(${name} ${source})
  heist_flags(${name})
  if(NOT TARGET tests_${kind})
    add_custom_target(tests_${kind})
  endif()
  add_dependencies(tests_${kind} ${name})
  if(TARGET heist_memcheck)
    target_link_libraries(${name} PRIVATE heist_memcheck)
  endif()
  heist_test(${name} ${kind} ${seconds} $<TARGET_FILE:${name}>)
endfunction()

# Sets `out` to the linker options that route calls to the __wrap_ functions
# which the file defines: a fault test decides itself what may fail.
function(heist_wraps out source)
  file(STRINGS ${source} lines REGEX "__wrap_[a-z0-9_]+")
  string(REGEX MATCHALL "__wrap_[a-z0-9_]+" names "${lines}")
  list(REMOVE_DUPLICATES names)
  string(REPLACE "__wrap_" "LINKER:--wrap=" options "${names}")
  set(${out} "${options}" PARENT_SCOPE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
endfunction()

foreach(row unit=_test=60 stress=_stress=300 fault=_fault=120
            regress=_regress=120)
  string(REPLACE "=" ";" row ${row})
  list(GET row 0 kind)
  list(GET row 1 suffix)
  list(GET row 2 seconds)
  file(GLOB sources CONFIGURE_DEPENDS tests/${kind}/*${suffix}.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    heist_test_program(${name} ${source} ${kind} ${seconds})
    target_include_directories(${name} PRIVATE src tests)
    target_link_libraries(${name} PRIVATE heist_tool_parts)
    if(kind STREQUAL "fault")
      heist_wraps(wraps ${source})
      target_link_options(${name} PRIVATE ${wraps})
    endif()
    if(kind STREQUAL "stress") # more than one thread each: not side by side
      set_tests_properties(${name} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
endforeach()

# Examples see what a user sees: public headers, the shared library.
file(GLOB sources CONFIGURE_DEPENDS examples/*.c)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  heist_test_program(example_${name} ${source} example 60)
  target_link_libraries(example_${name} PRIVATE heist m)
endforeach()

# Scripts that get the path of the command.
file(GLOB sources CONFIGURE_DEPENDS tests/cli/*_test.sh)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  heist_test(${name} cli 120 ${source} $<TARGET_FILE:heist_tool>)
endforeach()

include(cmake/model.cmake)
