# SPDX-License-Identifier: MIT
# Headers, both libraries, the command, pkg-config and a CMake package.
include(CMakePackageConfigHelpers)

install(TARGETS heist heist_static EXPORT heistTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
if(HEIST_TOOLS)
  install(TARGETS heist_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# An absolute libdir or includedir (some distributions want one) stays as it is.
foreach(dir LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
    set(HEIST_PC_${dir} "${CMAKE_INSTALL_${dir}}")
  else()
    set(HEIST_PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
# The prefix is where the file is found, so that it may be chosen when installing.
# Not /usr: that does not move, and pkg-config leaves out what it knows by its name.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(HEIST_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  string(REGEX REPLACE "[^/]+" ".." up "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  set(HEIST_PC_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file(heist.pc.in heist.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heist.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/heist)
configure_package_config_file(cmake/heistConfig.cmake.in heistConfig.cmake
  INSTALL_DESTINATION ${package})
# Before 1.0 a minor version may break what the last one promised.
write_basic_package_version_file(heistConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heistConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/heistConfigVersion.cmake
  DESTINATION ${package})
install(EXPORT heistTargets NAMESPACE heist:: DESTINATION ${package})
