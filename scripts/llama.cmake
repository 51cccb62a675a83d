# Leaves out the part of llama-cpp-python that takes longest to compile and that gnod does not use: llama.cpp's library for
# its command-line programs. make_venv.py passes this file to CMake as CMAKE_PROJECT_llama_cpp_INCLUDE. See
# docs/adr/0024-build.md.

# llama-cpp-python forces the cache entry of this name to ON. A normal variable takes precedence.
set(LLAMA_BUILD_COMMON OFF)
